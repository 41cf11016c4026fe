"""Every key with what it does, made from the table of keys, and what the words mean."""

from collections.abc import Sequence

from textual.binding import Binding, BindingType

from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import EVERYWHERE, HELP, OVERVIEW, PROFILE
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.screens.sheet_screen import SheetScreen

_OF_OVERVIEW: tuple[str, list[BindingType]] = ("on the overview", OVERVIEW)
_OF_PROFILE: tuple[str, list[BindingType]] = ("on a profile", PROFILE)
_PHASES = (
    ("wait", "the training stood still for its data loader"),
    ("copy to GPU", "the batch is copied to the GPU"),
    ("forward", "from the batch's arrival to the loss"),
    ("backward", "gradients are computed, from the call of backward on"),
    ("communication", "waiting for other ranks, where it is not hidden under computing"),
    ("optimizer", "the parameters are updated"),
    ("other", "what belongs to none of these: logging, checkpoints, validation"),
)
_WORDS = (
    ("step", "one update of the parameters, with all that leads to it"),
    ("rank", "one process of the training; several train together"),
    ("share", "part of a step's time on the host; the measured shares sum to 100 %"),
    ("p50, p99", "half of the steps, or 99 of 100, are faster than this"),
    ("expected, at most", "the predicted speed-up; the speed-up if the cause cost nothing at all"),
    ("launch A, B", "one start of the training, for measuring: as it is, and with the change"),
    ("SM, tensor, DRAM", "share of time that this part of the GPU works, over these steps"),
    ("kernel, GPU busy", "share of time with any kernel running, however little of the GPU it fills"),
    ("device 61 ms", "a step on the GPU's own timeline, mean of the sampled steps; parts hold idle time too"),
    ("run, others, of", "cores busy with this run, with all else, and how many the run may use"),
    ("waiting for", "share of time in which some task stood still for want of it"),
    ("throttled", "of clocks: share of time held down; of cores: share of the CPU quota's periods used up"),
    ("D state, no core", "workers waiting for a device; share of time ready without a core"),
    ("readings", "share of one core that perftui takes to read host and GPUs"),
    ("—", "never measured; a measured zero is written 0"),
)
_MARKS = (
    ("▲ !", "critical, and on the chart a step taller than the scale; a warning, or a silent rank"),
    ("● ○", "going on, or fine; waiting, or only a note"),
    ("◆ ■ ✔ ✖", "a profiling window or another event; ended; done; failed"),
)
_NAMES = {"question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]"}


class HelpScreen(SheetScreen[None]):
    """All keys and words."""

    BINDINGS = HELP

    def __init__(self, glyphs: Glyphs, *, of_profile: bool = False) -> None:
        super().__init__(glyphs, "help: only r, s and x can change the training, and they ask first")
        first, last = (_OF_PROFILE, _OF_OVERVIEW) if of_profile else (_OF_OVERVIEW, _OF_PROFILE)
        name, bindings = first
        self._keys_here, self._other_keys = ((name, [*bindings, *EVERYWHERE]),), (last,)

    def lines(self, width: int) -> Sequence[Line]:
        """Return all lines."""
        words = (
            ("where a step goes", _PHASES, "value"),
            ("words", _WORDS, "value"),
            ("marks", _MARKS, "value"),
        )
        here, others = _keys(self._keys_here, shown=True), _keys(self._keys_here, shown=False)
        parts = [*here, *words, *others, *_keys(self._other_keys, shown=None)]
        drawn: list[Line] = []
        for heading, entries, role in parts:
            drawn += [*([BLANK] if drawn else []), line(Run(heading, "heading"))]
            drawn += [part for word, meaning in entries for part in _entry(word, meaning, width, role)]
        return drawn


def _keys(
    groups: Sequence[tuple[str, list[BindingType]]], *, shown: bool | None
) -> list[tuple[str, Sequence[tuple[str, str]], str]]:
    """Return the keys that the footer shows, or the others, or (None) all."""
    made: list[tuple[str, Sequence[tuple[str, str]], str]] = []
    for name, bindings in groups:
        keys = [key for key in bindings if isinstance(key, Binding) and shown in (None, key.show)]
        heading = f"more keys {name}" if shown is False else f"keys {name}"
        made.append((heading, [(_shown(key), key.tooltip) for key in keys], "key"))
    return made


def _shown(binding: Binding) -> str:
    return " ".join(_NAMES.get(key, key) for key in binding.key.split(","))


def _entry(word: str, meaning: str, width: int, role: str) -> list[Line]:
    return [
        (Run(f"  {word if index == 0 else '':<18} ", role), *part)
        for index, part in enumerate(wrap(meaning, max(10, width - 21)))
    ]
