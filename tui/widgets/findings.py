"""The findings with their evidence."""

from collections.abc import Sequence

from perftui.tui.renderables.finding_lines import finding_lines
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.remedy_words import settings_in_force
from perftui.tui.state import DashboardState
from perftui.tui.widgets.picture import ScrolledPicture


class FindingsPanel(ScrolledPicture):
    """All findings, the leading one first."""

    state: DashboardState | None = None

    def show(self, state: DashboardState) -> None:
        """Show a state."""
        before, self.state = self.state, state
        if before is None or _shown(before) != _shown(state):
            self.redraw()

    def title(self) -> Line:
        """Return the title."""
        number = len(self.state.findings) if self.state else 0
        return line(Run("findings", "title"), Run(f" {number}" if number else "", "dim"))

    def body(self, width: int) -> Sequence[Line]:
        """Return all lines."""
        return finding_lines(self.state, width) if self.state else []


def _shown(state: DashboardState) -> tuple[object, ...]:
    """Return what the picture depends on."""
    return state.findings, settings_in_force(state), state.connected, state.ended
