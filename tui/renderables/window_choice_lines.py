"""The rows from which a person chooses what a profiling window records."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import BLANK, MORE, Line, Run, line, width_of, wrap
from perftui.tui.window_choice import PRESETS, ROWS, STEPS, WindowChoice

_LABEL = 8
_PRESET_WORDS = {
    "light": "Operators and kernels. The training stands still for 3 to 6 µs an event at the end.",
    "shapes": "The shapes of operators' inputs too: each event costs two to three times as much.",
    "memory": "Allocations too, and on CUDA the allocator's history as a file: half as much again.",
    "stacks": "Python's stacks too: more events, and each costs more.",
}
_STEPS_WORDS = "The first window with a preset has 3 steps at most; later ones as many as the budget allows."
_ALL_RECORD = "All ranks record in any case, so that none waits for another."


def window_choice_lines(choice: WindowChoice, width: int) -> list[Line]:
    """Draw the rows, and below them what the chosen values mean."""
    rows: tuple[list[tuple[str, bool]], ...] = (
        [(preset, preset == choice.preset) for preset in PRESETS],
        [(str(steps), steps == choice.steps) for steps in STEPS],
        [(_kept(choice), True)],
    )
    drawn: list[Line] = []
    for place, (label, values) in enumerate(zip(ROWS, rows, strict=True)):
        here = place == choice.row
        lead = Run(f"{'>' if here else ' '} {label:<{_LABEL}}", "key" if here else "dim")
        drawn.append(line(lead, *_values(values, width - width_of(line(lead)))))
    words = [_PRESET_WORDS[choice.preset], _STEPS_WORDS]
    if len(choice.ranks) > 1:
        words.append(_ALL_RECORD)
    return [*drawn, BLANK, *(part for text in words for part in wrap(text, width, "dim"))]


def _values(values: Sequence[tuple[str, bool]], room: int) -> list[Run]:
    """Draw the values; where not all have room, from one on that leaves the chosen one in view."""
    drawn = [Run(f" {text} ", "cursor" if chosen else "text") for text, chosen in values]
    upto = 1 + next(at for at, (_, chosen) in enumerate(values) if chosen)
    more = 1 if upto < len(values) else 0  # the mark of what is cut
    first = 0
    while first < upto - 1 and bool(first) + width_of(tuple(drawn[first:upto])) + more > room:
        first += 1
    return [*([Run(MORE, "dim")] if first else []), *drawn[first:]]


def _kept(choice: WindowChoice) -> str:
    if choice.keep is not None:
        return f"the trace of rank {choice.keep} only"
    return "the trace" if len(choice.ranks) < 2 else "the traces of all ranks"
