"""A profiling window: a sentence on top, and its tables."""

from textual.app import ComposeResult
from textual.widgets import Footer

from perftui.ipc.view import ProfileView
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import PROFILE
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.profile_lines import window_lines
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState
from perftui.tui.widgets.picture import Picture
from perftui.tui.widgets.profile_table import ProfileTable
from perftui.tui.widgets.run_header import RunHeader


class _WindowLines(Picture):
    """What the window says."""

    view: ProfileView | None = None

    def show(self, view: ProfileView | None) -> None:
        """Show a window."""
        self.view = view
        self.redraw()

    def draw(self) -> list[Line]:
        """Draw it."""
        return window_lines(self.view, self.size.width)


class ProfileScreen(RunScreen):
    """The newest window, or an older one."""

    BINDINGS = PROFILE

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._state: DashboardState | None = None
        self._header = RunHeader(glyphs, id="header")
        self._window = _WindowLines(glyphs, id="window")
        self._table = ProfileTable(glyphs, id="rows")
        self._window_id: str | None = None
        """The window that was chosen; None: the newest."""

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._header
        yield self._window
        yield self._table
        yield Footer(compact=True, show_command_palette=False)

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show the chosen window of a state."""
        self._state = state
        self._header.show(live, note)
        view = self._view()
        self._window.show(view)
        self._table.show(view)

    def show_newest(self) -> None:
        """Follow the newest window."""
        self._window_id = None

    def _view(self) -> ProfileView | None:
        profiles = self._state.profiles if self._state else ()
        chosen = [view for view in profiles if view.window_id == self._window_id]
        newest = profiles[-1] if profiles else None
        return chosen[0] if chosen else newest

    def action_window(self, step: int) -> None:
        """Go to an older or newer window."""
        view, state = self._view(), self._state
        if view is None or state is None:
            return
        ids = [profile.window_id for profile in state.profiles]
        self._window_id = ids[max(0, min(len(ids) - 1, ids.index(view.window_id) + step))]
        chosen = self._view()
        self._window.show(chosen)
        self._table.show(chosen)

    def action_part(self, step: int) -> None:
        """Go to another table."""
        self._table.next_part(step)

    def action_rank(self, step: int) -> None:
        """Go to another rank."""
        self._table.next_rank(step)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._table.move(rows)

    def action_sort(self, key: str) -> None:
        """Sort by a column."""
        self._table.sort_by(key)
