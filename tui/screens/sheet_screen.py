"""A sheet of text over the screen, with its keys below: the base of questions and of the help."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.lines import Line
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.sheet import Sheet

_Answer = TypeVar("_Answer")


class SheetScreen(ModalScreen[_Answer]):
    """Closing it without an answer changes nothing. Tables of keys for it end with `SHEET`, which scrolls."""

    def __init__(self, glyphs: Glyphs, title: str) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._sheet = Sheet(glyphs, title, self.lines)

    @abstractmethod
    def lines(self, width: int) -> Sequence[Line]:
        """Return the text for a width."""

    def compose(self) -> ComposeResult:
        """Place the sheet and its keys."""
        yield self._sheet
        yield KeyLine(self._glyphs)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the sheet into the screen."""
        self._sheet.fit_into(event.size.width, event.size.height)

    def fit(self) -> None:
        """Draw the text anew where it has changed, and fit the sheet to it."""
        self._sheet.fit_into(self.size.width, self.size.height)
        self._sheet.redraw()

    def action_scroll_sheet(self, lines: int) -> None:
        """Scroll the text."""
        self._sheet.scroll_by(lines)

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)
