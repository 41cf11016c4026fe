"""The step-time history of the chosen rank."""

from collections.abc import Sequence

from perftui.ipc.view import Mark
from perftui.tui import format as fmt
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.history_chart import WAIT_PATTERN, Points, history_chart
from perftui.tui.renderables.lines import Line, Run, frame, line
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
        track = self.track
        points = Points(track.step, track.wall_ms, track.wait_ms)
        marks = [
            ChartMark(mark.step, fmt.clean(mark.event))
            for mark in self.marks
            if mark.step >= 0 and mark.rank in (None, self.rank)
        ]
        textured = self.glyphs.textured
        style = self.glyphs.chart
        body = history_chart(points, width - 4, height - 2, style, marks, textured=textured)
        span = f"  last {track.step[-1] - track.step[0] + 1:,} steps" if track.step else ""
        title = line(Run("step time", "title"), Run(f" of rank {self.rank}{span}", "dim"))
        sign = WAIT_PATTERN if textured else "■"
        wait, rest = Run(f"{sign} ", "loader_wait"), Run("■ ", "accent")
        keys = line(wait, Run("wait (below)  ", "dim"), rest, Run("rest", "dim"))
        return frame(body, width, height, title, keys)
