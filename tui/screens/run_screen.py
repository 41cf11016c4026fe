"""What whole screens have in common: they are shown the run, whatever is on top of them."""

from abc import abstractmethod

from textual.screen import Screen

from perftui.tui.messages import StateWanted
from perftui.tui.state import DashboardState


class RunScreen(Screen[None]):
    """A whole screen that shows the run."""

    @abstractmethod
    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show `state`. It lags behind `live` while frozen, which `note` then says."""

    def on_screen_resume(self) -> None:
        """Ask for the newest state on coming up."""
        self.post_message(StateWanted())
