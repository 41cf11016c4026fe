"""A relaunch from its first trial to its verdict."""

from collections.abc import Sequence

from perftui.ipc.view import RelaunchView
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.relaunch_lines import relaunch_lines, relaunch_title
from perftui.tui.widgets.picture import ScrolledPicture


class RelaunchPanel(ScrolledPicture):
    """What is being measured, and how it came out."""

    view: RelaunchView | None = None

    def show(self, view: RelaunchView | None) -> None:
        """Show a relaunch."""
        self.view = view
        self.redraw()

    def title(self) -> Line:
        """Return the title: the change."""
        return relaunch_title(self.view) if self.view else line(Run("relaunch", "title"))

    def body(self, width: int) -> Sequence[Line]:
        """Return all lines."""
        return relaunch_lines(self.view, width) if self.view else []
