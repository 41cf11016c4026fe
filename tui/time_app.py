"""What the dashboard does with time: freeze, step back in it, and in a replay pause, seek, play faster."""

from abc import abstractmethod

from textual.widgets import Input

from perftui.ipc.findings import Finding, Remedy
from perftui.tui.ordering_app import OrderingApp
from perftui.tui.screens.overview import OverviewScreen
from perftui.tui.screens.profile import ProfileScreen
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.time_keys import TimeKeys

TIME_ACTIONS = ("step_time", "newest", "faster")


class TimeApp(OrderingApp):
    """An app whose picture can be one of an earlier time."""

    time: TimeKeys

    @abstractmethod
    def show_run(self) -> None:
        """Show the run, as it is now or was then."""

    def goes_through_time(self, action: str) -> bool:
        """Whether keys go through time: not where they are needed to write, or on what was recorded."""
        screen = self.screen
        if not isinstance(screen, RunScreen) or isinstance(screen, ProfileScreen):
            return False
        if isinstance(self.focused, Input):
            return False
        if action == "faster":
            return self.live.replayed
        return self.time.in_force(self.live, on_overview=isinstance(screen, OverviewScreen))

    def propose(self, finding: Finding, remedy: Remedy) -> None:
        """Propose a remedy, but none of an earlier time that nothing speaks for any more."""
        now = [(each.code, each.rank, each.remedy.set) for each in self.live.findings if each.remedy]
        if self.time.held and (finding.code, finding.rank, remedy.set) not in now:
            self.notify("that was found then, and is not any more: nothing is proposed", markup=False)
        else:
            super().propose(finding, remedy)

    def action_freeze(self) -> None:
        """Hold the picture or let it go; a replay is paused at its hub."""
        if self.live.header is None:
            self.notify("there is no picture to freeze yet", markup=False)
            return
        self.time.freeze(self.live)
        self._time_changed()

    def action_step_time(self, by: int) -> None:
        """Go back in time, or on."""
        self.time.step(self.live, by)
        self._time_changed()

    def action_newest(self) -> None:
        """Show the run as it is now; of a replay, its end."""
        self.time.let_go(self.live)
        self._time_changed()

    def action_faster(self, way: int) -> None:
        """Play a replay faster, or slower."""
        self.time.faster(self.live, way)

    def _time_changed(self) -> None:
        self.show_run()
        self.refresh_bindings()
