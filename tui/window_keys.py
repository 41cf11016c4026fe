"""What the keys of profiling windows do: open one at once or after a question, end the one that is open."""

from collections.abc import Callable

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import CancelProfileCommand, Command, ProfileCommand
from perftui.tui.glyphs import Glyphs
from perftui.tui.ordering_app import OrderingApp
from perftui.tui.screens.ask import WINDOW_WORDS, ConfirmScreen
from perftui.tui.screens.choose_window import ChooseWindowScreen
from perftui.tui.state import DashboardState, open_window
from perftui.tui.window_choice import WindowChoice, first_choice


class WindowKeys:
    """Asks on the app's screen, and hands commands to whoever sends them.

    Args:
        app: to ask on.
        glyphs: to draw with.
        may_change: whether anything can be done to the run; tells the person why not.
        command: sends a command; takes what to call it in a warning.
        show: shows the windows.
    """

    def __init__(
        self,
        app: OrderingApp,
        glyphs: Glyphs,
        may_change: Callable[[], bool],
        command: Callable[[Command, str], None],
        show: Callable[[], None],
    ) -> None:
        self._app, self._glyphs = app, glyphs
        self._may_change, self._command, self._show = may_change, command, show

    def open_or_end(self, state: DashboardState) -> None:
        """Open a window as most want it, and show it; where one is open, offer to end it."""
        if open_window(state) is not None:
            self.end(state)
        elif self._may_change():
            self._open(WindowChoice())

    def choose_or_end(self, state: DashboardState, in_view: int) -> None:
        """Ask what to record first, the rank in view before the others."""
        if open_window(state) is not None:
            self.end(state)
        elif self._may_change():
            ranks = [view.rank for view in state.ranks]
            choice = first_choice(ranks, in_view if in_view in ranks else None)
            self._app.ask(ChooseWindowScreen(self._glyphs, choice), self._open)

    def end(self, state: DashboardState) -> None:
        """Ask, then end the open window without a result."""
        window = open_window(state)
        if window is not None and self._may_change():
            question = ConfirmScreen(self._glyphs, "end this profiling window?", WINDOW_WORDS, state)
            self._app.ask(question, lambda _: self._end(window.window_id))

    def _open(self, choice: WindowChoice) -> None:
        command = ProfileCommand(
            command_id=new_command_id(),
            steps=choice.steps,
            ranks=choice.kept_ranks,
            preset=choice.preset,
        )
        self._command(command, "profile")
        self._show()

    def _end(self, window_id: str) -> None:
        now = open_window(self._app.live)
        if now is None or now.window_id != window_id:
            self._app.notify("that window has ended already: nothing was done", markup=False)
        else:
            self._command(CancelProfileCommand(command_id=new_command_id()), "end the window")
