"""Every key with what it does, made from the table of keys, and what the words mean."""

from collections.abc import Sequence

from textual.binding import Binding, BindingType

from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import EVERYWHERE, HELP, OVERVIEW, PROFILE
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.screens.sheet_screen import SheetScreen

_GROUPS: tuple[tuple[str, list[BindingType]], ...] = (
    ("overview", OVERVIEW),
    ("profile", PROFILE),
    ("everywhere", EVERYWHERE),
)
_WORDS = (
    ("wait", "time a rank stood still for its data loader, not hidden under computing"),
    ("share", "part of a step's time on the host; the measured shares sum to 100 %"),
    ("p50, p99", "half of the steps, or 99 of 100, are faster than this"),
    ("—", "never measured; a measured zero is written 0"),
    ("expected, at most", "the predicted speed-up; the speed-up if the cause cost nothing at all"),
    ("GPU busy", "share of time with any kernel running; it does not say how well it fills the GPU"),
    ("marks", "▲ critical, ! warning, ● fine or a note, ○ waiting, ■ ended, ✖ failed, ◆ window or event"),
)
_NAMES = {"question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]"}


class HelpScreen(SheetScreen[None]):
    """All keys and words."""

    BINDINGS = HELP

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs, "keys: only r, s and x can change the training, and they ask first")

    def lines(self, width: int) -> Sequence[Line]:
        """Return all lines."""
        drawn: list[Line] = []
        for name, bindings in _GROUPS:
            drawn.append(line(Run(name, "heading")))
            for binding in bindings:
                if isinstance(binding, Binding):
                    drawn += _entry(_shown(binding), binding.tooltip, width, "key")
            drawn.append(BLANK)
        drawn.append(line(Run("words", "heading")))
        return [*drawn, *(part for word, meaning in _WORDS for part in _entry(word, meaning, width, "value"))]


def _shown(binding: Binding) -> str:
    return " ".join(_NAMES.get(key, key) for key in binding.key.split(","))


def _entry(word: str, meaning: str, width: int, role: str) -> list[Line]:
    return [
        (Run(f"  {word if index == 0 else '':<18} ", role), *part)
        for index, part in enumerate(wrap(meaning, max(10, width - 21)))
    ]
