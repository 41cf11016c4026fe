"""The line above the keys: the host, and what perftui itself costs."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.status_line import status_lines
from perftui.tui.state import DashboardState
from perftui.tui.widgets.picture import Picture


class StatusLine(Picture):
    """One line, or two where there is room."""

    state: DashboardState | None = None

    def show(self, state: DashboardState) -> None:
        """Show a state."""
        self.state = state
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the lines."""
        return status_lines(self.state, *self.size) if self.state else []
