"""What a rank is at, in words: only what is not plain training, and goes on long enough to be read."""

from perftui.ipc.facts import RunPhase
from perftui.tui import format as fmt

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


def phase_words(phase: RunPhase | None, for_s: float | None) -> str | None:
    """Return e.g. `validating for 12 s`; None where there is nothing to say beside the state."""
    words = _known(phase, for_s)
    return None if words is None else f"{words[0]} for {fmt.age(for_s or 0.0)}"


def phase_word(phase: RunPhase | None, for_s: float | None) -> str | None:
    """Return one word of ten cells at most, or None."""
    words = _known(phase, for_s)
    return None if words is None else words[1]


def _known(phase: RunPhase | None, for_s: float | None) -> tuple[str, str] | None:
    return _WORDS.get(phase) if phase is not None and (for_s or 0.0) >= _SHOWN_AFTER_S else None
