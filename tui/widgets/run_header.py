"""The two widgets at the top: the run, and the answer to "is it fine?"."""

from collections.abc import Sequence

from perftui.tui.paced_app import PacedApp
from perftui.tui.renderables.headline import header_line, verdict_lines
from perftui.tui.renderables.lines import Line
from perftui.tui.state import DashboardState
from perftui.tui.widgets.picture import Picture, app_of


class HeaderLine(Picture):
    """The line at the top; a click on it offers all actions, those too that are not in the line of keys."""

    def on_click(self) -> None:
        """Open the palette."""
        app_of(self).action_command_palette()


class RunHeader(HeaderLine):
    """One line: what runs, where it stands."""

    state: DashboardState | None = None
    note = ""

    def show(self, state: DashboardState, note: str) -> None:
        """Show a state; `note` says that the rest of the screen is frozen."""
        self.state, self.note = state, note
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the line."""
        app = app_of(self)
        slow_s = app.slow_s if isinstance(app, PacedApp) else None
        return [header_line(self.state, self.size.width, self.note, slow_s)] if self.state else []


class VerdictLines(Picture):
    """Two lines or, where there is room, up to four: whether it is fine, and what can be done."""

    state: DashboardState | None = None

    def show(self, state: DashboardState) -> None:
        """Show a state."""
        self.state = state
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw them into the room that there is."""
        return verdict_lines(self.state, self.size.width, self.size.height) if self.state else []
