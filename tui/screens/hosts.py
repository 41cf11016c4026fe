"""The hosts of the run."""

from collections.abc import Sequence

from perftui.tui.keys import HOSTS
from perftui.tui.renderables.host_blocks import host_blocks
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.page import Block
from perftui.tui.screens.page_screen import PageScreen


class HostsScreen(PageScreen):
    """One block a host."""

    BINDINGS = HOSTS

    def heading(self) -> Line:
        """Return how many there are."""
        count = max(len(self.state.links), len(self.state.hosts))
        return line(Run("hosts", "title"), Run(f" {count}" if count > 1 else "", "value"))

    def blocks(self, width: int) -> Sequence[Block]:
        """Return how each stands."""
        return host_blocks(self.state, width)
