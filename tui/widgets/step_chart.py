"""The step-time history of the chosen rank."""

from collections.abc import Sequence

from perftui.ipc.view import Mark
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.step_chart import step_chart
from perftui.tui.state import NO_TRACK, Track
from perftui.tui.widgets.picture import Picture


class StepChart(Picture):
    """A chart in a frame."""

    rank = 0
    track: Track = NO_TRACK
    marks: Sequence[Mark] = ()

    def show(self, rank: int, track: Track, marks: Sequence[Mark]) -> None:
        """Show one rank's history with the marks on it."""
        if (rank, track, marks) != (self.rank, self.track, self.marks):
            self.rank, self.track, self.marks = rank, track, marks
            self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the chart."""
        width, height = self.size
        return step_chart(self.rank, self.track, self.marks, (width, height), self.glyphs)
