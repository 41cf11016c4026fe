"""The step times of one rank in a frame, with what happened to it."""

from collections.abc import Sequence

from perftui.ipc.figures import counted
from perftui.ipc.view import Mark
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.history_chart import WAIT_PATTERN, Points, history_chart
from perftui.tui.renderables.lines import Line, Run, frame, line
from perftui.tui.state import Track


def marks_of_rank(marks: Sequence[Mark], rank: int) -> list[ChartMark]:
    """Return what happened to a rank, or to the run, at a known step."""
    return [
        ChartMark(mark.step, fmt.clean(mark.event))
        for mark in marks
        if mark.step >= 0 and mark.rank in (None, rank)
    ]


def step_chart(
    rank: int, track: Track, marks: Sequence[Mark], size: tuple[int, int], glyphs: Glyphs
) -> list[Line]:
    """Draw it in a frame of `size` (width, height)."""
    width, height = size
    points = Points(track.step, track.wall_ms, track.wait_ms)
    happened = marks_of_rank(marks, rank)
    body = history_chart(points, width - 4, height - 2, glyphs.chart, happened, textured=glyphs.textured)
    span = f"  last {counted(track.step[-1] - track.step[0] + 1, 'step')}" if track.step else ""
    title = line(Run("step time", "title"), Run(f" of rank {rank}{span}", "dim"))
    sign = WAIT_PATTERN if glyphs.textured else "■"
    wait, rest = Run(f"{sign} ", "loader_wait"), Run("■ ", "accent")
    keys = line(wait, Run("wait (below)  ", "dim"), rest, Run("rest", "dim"))
    return frame(body, width, height, title, keys)
