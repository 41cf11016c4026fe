"""The line above the keys: the host, and what perftui itself costs."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.status_line import status_line
from perftui.tui.state import DashboardState
from perftui.tui.widgets.picture import Picture


class StatusLine(Picture):
    """One line."""

    state: DashboardState | None = None

    def show(self, state: DashboardState) -> None:
        """Show a state."""
        self.state = state
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the line."""
        return [status_line(self.state, self.size.width)] if self.state else []
