"""The question what a profiling window is to record, and whose trace is kept."""

from collections.abc import Sequence

from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import WINDOW_CHOICE
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.window_choice_lines import window_choice_lines
from perftui.tui.screens.sheet_screen import SheetScreen
from perftui.tui.window_choice import WindowChoice, at_row, changed


class ChooseWindowScreen(SheetScreen[WindowChoice]):
    """Closed without an answer, no window opens."""

    BINDINGS = WINDOW_CHOICE

    def __init__(self, glyphs: Glyphs, choice: WindowChoice) -> None:
        self._choice = choice
        super().__init__(glyphs, "open a profiling window?")

    def lines(self, width: int) -> Sequence[Line]:
        """Return the rows to choose from."""
        return window_choice_lines(self._choice, width)

    def action_row(self, by: int) -> None:
        """Go to another row."""
        self._take(at_row(self._choice, by))

    def action_change(self, by: int) -> None:
        """Take another value of the row."""
        self._take(changed(self._choice, by))

    def action_open(self) -> None:
        """Answer."""
        self.dismiss(self._choice)

    def _take(self, choice: WindowChoice) -> None:
        self._choice = choice
        self.fit()
