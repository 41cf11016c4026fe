"""What whole screens have in common: they are shown the run, whatever is on top of them."""

from abc import abstractmethod

from textual.binding import Binding
from textual.screen import Screen

from perftui.ipc.dashboard_messages import Done
from perftui.tui.messages import StateWanted
from perftui.tui.state import DashboardState


class RunScreen(Screen[None]):
    """A whole screen that shows the run."""

    read_only = False
    """Its keys change nothing."""

    @abstractmethod
    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show `state`. It lags behind `live` while frozen, which `note` then says."""

    def key_words(self, binding: Binding) -> tuple[str, ...]:
        """Return what the line of keys says of a key, the shortest first; empty: it is of no use now."""
        return (binding.description,)

    def told(self, done: Done | None, why: str) -> None:
        """Take what was asked of the hub; None: it cannot be had, and why."""

    def on_screen_resume(self) -> None:
        """Ask for the newest state on coming up."""
        self.post_message(StateWanted())
