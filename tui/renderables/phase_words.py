"""What a rank is at, in words: only what is not plain training, and goes on long enough to be read."""

from collections.abc import Mapping

from perftui.ipc.facts import RunPhase
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line, width_of

_WORDS: dict[RunPhase, tuple[str, str]] = {
    "starting": ("starting", "starting"),
    "validation": ("validating", "validating"),
    "checkpoint": ("saving a checkpoint", "saving"),
    "compiling": ("compiling", "compiling"),
    "between": ("between epochs", "new epoch"),
    "ending": ("ending", "ending"),
}
"""In full, and in ten cells at most."""
_SHOWN_AFTER_S = 1.0
_OF_THE_TIME: tuple[tuple[RunPhase, str], ...] = (
    ("training", "training"),
    ("validation", "validation"),
    ("checkpoint", "checkpoints"),
    ("compiling", "compiling"),
    ("between", "between epochs"),
)
"""What goes on between the first step and the last."""
_MUCH = 0.05
_DULL = 0.005


def phase_words(phase: RunPhase | None, for_s: float | None) -> str | None:
    """Return e.g. `validating for 12 s`; None where there is nothing to say beside the state."""
    words = _known(phase, for_s)
    return None if words is None else f"{words[0]} for {fmt.age(for_s or 0.0)}"


def phase_word(phase: RunPhase | None, for_s: float | None) -> str | None:
    """Return one word of ten cells at most, or None."""
    words = _known(phase, for_s)
    return None if words is None else words[1]


def time_words(phases_s: Mapping[str, float] | None, width: int) -> Line:
    """Draw what share of the time trains, and what else takes it; blank while nothing else takes much.

    The bar above has shares of the steps, in which validations and checkpoints are not.
    """
    spent = {name: (phases_s or {}).get(phase, 0.0) for phase, name in _OF_THE_TIME}
    total = sum(spent.values())
    if not total or 1 - spent["training"] / total < _MUCH:
        return BLANK
    parts = [
        line(Run(f"{name} ", "dim"), fmt.percent(seconds / total))
        for name, seconds in spent.items()
        if seconds >= _DULL * total
    ]
    told = (*join_fitting(parts, line(Run(" · ", "frame")), width - 12), Run(" of the time", "dim"))
    beside = (*told, Run("; the bar is of the step", "dim"))
    return beside if width_of(beside) <= width else told


def _known(phase: RunPhase | None, for_s: float | None) -> tuple[str, str] | None:
    return _WORDS.get(phase) if phase is not None and (for_s or 0.0) >= _SHOWN_AFTER_S else None
