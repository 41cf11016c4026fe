"""The timeline: what covers a cell, where the cursor goes, what the picture says."""

import random

import msgspec
import pytest

from perftui.ipc.trace_report import TimelineLane, TraceTimeline
from perftui.tui.glyphs import to_ascii
from perftui.tui.renderables import timeline_view as views
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.span_details import span_details
from perftui.tui.renderables.timeline_cells import Cell, cells_of
from perftui.tui.renderables.timeline_index import DEPTHS_MAX, Span, TimelineIndex, timeline_index
from perftui.tui.renderables.timeline_lines import (
    span_at_cursor,
    tick_ns,
    time_text,
    timeline_lines,
)
from perftui.tui.renderables.timeline_view import TimeView
from tests.tui import trace_scenes

INDEX = timeline_index(trace_scenes.timeline())
STEP = TimeView(0, 40_000)


def lane(spans: list[tuple[int, int, int, int]], kind: str = "stream") -> TimelineLane:
    """A lane of (start, duration, name, depth)."""
    return TimelineLane(
        kind="stream" if kind == "stream" else "thread",
        title="lane",
        name=[span[2] for span in spans],
        start_ns=[span[0] for span in spans],
        duration_ns=[span[1] for span in spans],
        depth=[span[3] for span in spans],
    )


def index_of(*lanes: TimelineLane, window_ns: int = 1000) -> TimelineIndex:
    timeline = TraceTimeline(
        window_ns=window_ns,
        names=["a", "b", "c"],
        classes=["gemm", "copy", "norm"],
        lanes=list(lanes),
        steps=[],
    )
    return timeline_index(timeline)


def test_streams_come_first_and_each_depth_has_a_line() -> None:
    assert [(line.title, line.depth) for line in INDEX.lines] == [
        ("GPU 0 stream 7", 0), *(("thread 4000 python", depth) for depth in range(4)),
    ]  # fmt: skip


def test_a_cell_has_the_class_that_covers_most_of_it_and_how_much_is_covered() -> None:
    index = index_of(lane([(0, 60, 0, 0), (60, 30, 1, 0), (200, 10, 1, 0), (210, 15, 0, 0)]))
    cells = cells_of(index.lines[0], TimeView(0, 1000), 10)
    assert cells[0] == Cell("gemm", 0.9)
    assert cells[1] == Cell("", 0.0)
    assert cells[2] == Cell("gemm", 0.25)


def test_many_short_spans_of_one_class_outweigh_one_longer_span_of_another() -> None:
    short = [(at * 10, 6, 1, 0) for at in range(7)]
    cells = cells_of(index_of(lane([*short, (70, 30, 0, 0)])).lines[0], TimeView(0, 100), 1)
    assert cells == [Cell("copy", 0.72)]


def test_cells_agree_with_counting_every_nanosecond() -> None:
    dice = random.Random(7)
    spans: list[tuple[int, int, int, int]] = []
    at = 0
    while at < 990:
        at += dice.randrange(0, 9)
        duration = dice.randrange(0, 12)
        spans.append((at, duration, dice.randrange(3), 0))
        at += duration
    kinds = ["gemm", "copy", "norm"]
    owner = {ns: kinds[name] for start, duration, name, _ in spans for ns in range(start, start + duration)}
    index = index_of(lane(spans))
    for view in (TimeView(0, 1000), TimeView(137, 311), TimeView(500, 40)):
        for cells in (7, 40):
            bounds = views.edges(view, cells)
            for number, cell in enumerate(cells_of(index.lines[0], view, cells)):
                inside = [owner[ns] for ns in range(bounds[number], bounds[number + 1]) if ns in owner]
                assert cell.share == pytest.approx(len(inside) / (bounds[number + 1] - bounds[number]))
                most = max((inside.count(kind) for kind in kinds), default=0)
                assert inside.count(cell.kind) == most


def test_kernels_that_overlap_on_one_stream_never_fill_a_cell_more_than_once() -> None:
    index = index_of(lane([(0, 100, 0, 0), (90, 100, 0, 0), (50, 10, 0, 0)]))
    shares = [cell.share for cell in cells_of(index.lines[0], TimeView(0, 200), 10)]
    assert max(shares) == 1.0
    assert shares == [1.0] * 9 + [0.5]
    assert index.covering(0, 95) is not None


def test_what_cannot_be_drawn_is_counted() -> None:
    deep = lane([(0, 10, 0, DEPTHS_MAX), (0, 10, 9, 0), (0, 10, 0, 0)], "thread")
    index = index_of(deep)
    assert (len(index.lines), index.undrawn) == (1, 2)
    legend = plain(timeline_lines(index, TimeView(0, 1000), 0, 100, 10, textured=False)[-2])
    assert "2 deeper spans not drawn" in legend


def test_the_picture_of_a_step() -> None:
    drawn = [plain(part).rstrip() for part in timeline_lines(INDEX, STEP, 0, 98, 10, textured=False)]
    assert drawn == [
        "  time            ▼0 µs               │10 µs              │20 µs              │30 µs",
        "  steps           │step 421",
        "▶ GPU 0 stream 7                      ▏sm90_xmma_gemm_bf…__5x_cublas          ▏vectorize",
        "  thread 40…ython ▏ProfilerStep#421",
        "    depth 1       ▏loader           ████",
        "    depth 2                         ▓██░",
        "    depth 3                          ▓",
        "",
        "    ■ gemm  ■ elementwise  ■ operator  ■ call  ■ loader  ■ step",
        "▶ at 0.00 µs  nothing here",
    ]
    assert all(width_of(part) <= 98 for part in timeline_lines(INDEX, STEP, 0, 98, 10, textured=False))


def test_letters_stand_for_classes_where_colours_cannot_tell() -> None:
    everything = TimeView(0, 120_000, line=1)
    drawn = [plain(part) for part in timeline_lines(INDEX, everything, 0, 32, 10, textured=True)]
    assert drawn[2][12:] == " gGGgE  GGGeE  GGGEe"
    assert "G=gemm  E=elementwise" in drawn[-2]
    ascii_only = [to_ascii(part) for part in drawn]
    assert all(part.isascii() for part in ascii_only)
    assert [len(part) for part in ascii_only] == [len(part) for part in drawn]


def test_an_empty_timeline_has_a_picture() -> None:
    empty = timeline_index(TraceTimeline(window_ns=0, names=[], classes=[], lanes=[], steps=[]))
    lines = timeline_lines(empty, views.first_view(empty), 0, 60, 8, textured=False)
    assert "nothing here" in plain(lines[-1])


@pytest.mark.parametrize(("width", "height"), [(20, 5), (40, 8), (76, 15), (200, 50)])
def test_it_fits_at_every_size(width: int, height: int) -> None:
    for view in (STEP, views.whole(INDEX, STEP), TimeView(9_000, 100, line=2, time_ns=9_050)):
        lines = timeline_lines(INDEX, view, 0, width, height, textured=False)
        assert len(lines) == max(5, height)
        assert all(width_of(part) <= width for part in lines)


def test_ticks_are_round_and_labels_whole() -> None:
    assert tick_ns(40_000, 60) == 10_000
    assert tick_ns(1_000_000, 100) == 200_000
    assert time_text(1_200_000, 200_000) == "1,200 µs"
    assert time_text(3_000_000_000, 1_000_000_000) == "3 s"
    assert time_text(10, 1) == "10 ns"


def test_zooming_keeps_the_cursor_in_its_cell_and_stops_at_both_ends() -> None:
    view = TimeView(0, 120_000, time_ns=90_000)
    cell = views.cell_of(view, view.time_ns, 60)
    nearer = views.zoomed(INDEX, view, 1, 60)
    assert nearer.span_ns == 60_000
    assert abs(views.cell_of(nearer, nearer.time_ns, 60) - cell) <= 1
    for _ in range(40):
        nearer = views.zoomed(INDEX, nearer, 1, 60)
    assert nearer.span_ns == 60
    for _ in range(40):
        nearer = views.zoomed(INDEX, nearer, -1, 60)
    assert (nearer.start_ns, nearer.span_ns) == (0, 120_000)


def test_scrolling_stops_at_the_ends_and_takes_the_cursor_along() -> None:
    view = TimeView(0, 40_000, time_ns=20_000)
    on = views.scrolled(INDEX, view, 1, 60)
    assert (on.start_ns, on.time_ns) == (5_000, 25_000)
    for _ in range(60):
        on = views.scrolled(INDEX, on, 1, 60)
    assert (on.start_ns, on.time_ns) == (80_000, 119_999)
    for _ in range(60):
        on = views.scrolled(INDEX, on, -1, 60)
    assert (on.start_ns, on.time_ns) == (0, 0)


def test_steps_are_gone_to_one_by_one() -> None:
    view = views.first_view(INDEX)
    assert (view.start_ns, view.span_ns) == (0, 40_000)
    starts: list[int] = []
    for step in (1, 1, 1, -1, -1, -1):
        view = views.step_view(INDEX, view, step)
        starts.append(view.start_ns)
    assert starts == [40_000, 80_000, 80_000, 40_000, 0, 0]


def test_spans_are_gone_to_one_by_one_and_the_view_follows() -> None:
    view = TimeView(0, 20_000)
    starts: list[int] = []
    for step in (1, 1, 1, -1):
        view = views.span_step(INDEX, view, step)
        starts.append(view.time_ns)
        assert view.start_ns <= view.time_ns < view.start_ns + view.span_ns
    assert starts == [10_000, 30_000, 50_000, 30_000]
    end = views.to_end(INDEX, view, 1)
    assert end.time_ns == 119_999
    assert views.span_step(INDEX, end, 1).time_ns == 110_000
    assert views.span_step(INDEX, views.to_end(INDEX, view, -1), -1).time_ns == 10_000


def test_the_cursor_tells_its_span_and_how_many_share_its_cell() -> None:
    whole = TimeView(0, 120_000, line=0, time_ns=30_000)
    found = span_at_cursor(INDEX, whole, 3)
    assert found == (Span(0, 0), 1) or found == (Span(0, 1), 1)
    assert span_at_cursor(INDEX, TimeView(0, 40_000, time_ns=26_000), 40) is None
    line = plain(timeline_lines(INDEX, TimeView(0, 40_000, time_ns=12_000), 0, 120, 10, textured=False)[-1])
    assert "gemm  from 10.0 µs for 15.0 µs" in line


def test_a_host_span_tells_its_callers() -> None:
    call = [plain(part) for part in span_details(INDEX, Span(4, 0), 80)]
    assert call[0] == "cudaLaunchKernel"
    assert [part.split()[0] for part in call[call.index("called by") + 1 :]] == [
        "aten::addmm", "aten::linear", "ProfilerStep#421",
    ]  # fmt: skip


def test_a_kernel_tells_what_launched_it_and_when_and_from_where() -> None:
    kernel = [plain(part) for part in span_details(INDEX, Span(0, 0), 80)]
    launch = kernel.index("launched by aten::addmm, 0.500 µs before it began")
    assert [part.split()[0] for part in kernel[launch + 1 :]] == [
        "cudaLaunchKernel", "aten::addmm", "aten::linear", "ProfilerStep#421",
    ]  # fmt: skip
    assert any("421, 10.0 µs after its start" in part for part in kernel)
    unknown = [plain(part) for part in span_details(INDEX, Span(0, 1), 80)]
    assert unknown[-1] == "what launched it is not in the timeline"
    line = plain(timeline_lines(INDEX, TimeView(0, 40_000, time_ns=12_000), 0, 120, 10, textured=False)[-1])
    assert line.endswith("by aten::addmm")


def test_launches_stay_with_their_spans_when_a_file_is_not_sorted() -> None:
    timeline = trace_scenes.timeline()
    stream = timeline.lanes[1]
    columns = {
        name: getattr(stream, name)[::-1]
        for name in ("name", "start_ns", "duration_ns", "depth", "caller", "launched_ns")
    }
    turned = msgspec.structs.replace(timeline, lanes=[msgspec.structs.replace(stream, **columns)])
    assert timeline_index(turned).lines[0].callers == INDEX.lines[0].callers
    assert timeline_index(turned).lines[0].starts == INDEX.lines[0].starts


def test_events_are_in_the_order_of_their_starts() -> None:
    starts = [INDEX.lines[span.line].starts[span.at] for span in INDEX.events]
    assert len(starts) == 21
    assert starts == sorted(starts)
    assert INDEX.events[1:3] == [INDEX.events[1], INDEX.events[2]]
