"""The profiling windows of a run: the newest, or an older one."""

from collections.abc import Collection

from textual.app import ComposeResult

from perftui.ipc.view import ProfileView
from perftui.tui.glyphs import Glyphs
from perftui.tui.key_map import KEY_NAMES
from perftui.tui.keys import PROFILE
from perftui.tui.report_shelf import ReportShelf, report_path_of
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.run_header import RunHeader
from perftui.tui.widgets.trace_pane import TracePane

_UNDER_WAY = ("armed", "recording", "analysing")


class ProfileScreen(RunScreen):
    """One window at a time."""

    BINDINGS = PROFILE
    AUTO_FOCUS = "#rows"

    def __init__(self, glyphs: Glyphs, shelf: ReportShelf) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._state: DashboardState | None = None
        self._header = RunHeader(glyphs, id="header")
        self._pane = TracePane(glyphs, shelf)
        self._window_id: str | None = None
        """The window that was chosen; None: the newest."""

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._header
        yield self._pane
        yield KeyLine(self._glyphs)

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:  # noqa: ARG002
        """Show the chosen window of the live run: windows are of no time, and are opened and ended now."""
        self._state = live
        self._header.show(live, "")
        self._show_window()

    def show_newest(self) -> None:
        """Follow the newest window."""
        self._window_id = None
        self._show_window()

    def ask_tab(self, tab_id: str, beside: Collection[str]) -> None:
        """Open the next window that is none of those `beside` at a tab, if that has anything to show."""
        self._pane.ask_tab(tab_id, beside)

    def _view(self) -> ProfileView | None:
        profiles = self._state.profiles if self._state else ()
        chosen = [view for view in profiles if view.window_id == self._window_id]
        newest = profiles[-1] if profiles else None
        return chosen[0] if chosen else newest

    def _show_window(self) -> None:
        view = self._view()
        self._pane.show(view, report_path_of(view), _why_no_report(view, self._state))

    def action_window(self, step: int) -> None:
        """Go to an older or newer window."""
        view, state = self._view(), self._state
        if view is None or state is None:
            return
        ids = [profile.window_id for profile in state.profiles]
        self._window_id = ids[max(0, min(len(ids) - 1, ids.index(view.window_id) + step))]
        self._show_window()


def _why_no_report(view: ProfileView | None, state: DashboardState | None) -> str:
    if view is None:
        keys = state.keys if state is not None else KEY_NAMES
        one, asked = keys["profile"], keys["profile-choose"]
        return f"no profiling window yet: {one} opens one, 3 steps on all ranks; {asked} asks what to record"
    if view.state in _UNDER_WAY:
        return f"{view.state} …"
    return ""
