"""What the profile's screen costs: a frame of the timeline and of tables, by the number of spans and rows.

Run as `python benchmarks/trace_screen.py`. CPU time of one thread, the least of several repetitions; the last
column is the ratio to the smallest size, for a frame must not cost more because there is more to scroll in.
"""

import random
import time
from collections.abc import Callable
from functools import partial

from perftui.ipc.trace_report import (
    OperatorFigures,
    RankReport,
    StepSpan,
    TimelineLane,
    TraceReport,
    TraceTimeline,
)
from perftui.tui.renderables import timeline_view as views
from perftui.tui.renderables.timeline_index import TimelineIndex, timeline_index
from perftui.tui.renderables.timeline_lines import timeline_lines
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_events import events_table
from perftui.tui.renderables.trace_table import AnyTable, arranged, layout, matching, row_line, searched
from perftui.tui.renderables.trace_tabs import TABS

CLASSES = ["gemm", "conv", "norm", "elementwise", "reduce", "copy", "communication", "operator", "call"]
REPEATS = 7
WIDTH, HEIGHT = 116, 32


def least_ms(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        began = time.thread_time_ns()
        work()
        best = min(best, (time.thread_time_ns() - began) / 1e6)
    return best


def lane(kind: str, spans: int, dice: random.Random, depths: int) -> TimelineLane:
    """Spans that nest to `depths`, with pauses."""
    starts: list[int] = []
    durations: list[int] = []
    names: list[int] = []
    levels: list[int] = []
    at = 0
    while len(starts) < spans:
        at += dice.randrange(500, 4_000)
        length = dice.randrange(2_000, 40_000)
        for level in range(depths):
            starts.append(at + level * 10)
            durations.append(max(1, length - level * length // (depths + 1)))
            names.append(dice.randrange(7) if kind == "stream" else 7 + level % 2)
            levels.append(level)
        at += length
    return TimelineLane(
        kind="stream" if kind == "stream" else "thread",
        title=f"{kind} 7",
        name=names,
        start_ns=starts,
        duration_ns=durations,
        depth=levels,
    )


def made(spans: int) -> TraceTimeline:
    """A third of the spans on two streams, the rest on two threads with six depths each."""
    dice = random.Random(1)
    lanes = [lane("stream", spans // 6, dice, 1) for _ in range(2)]
    lanes += [lane("thread", spans // 3, dice, 6) for _ in range(2)]
    window = max(each.start_ns[-1] + each.duration_ns[-1] for each in lanes)
    steps = [
        StepSpan(step=n, start_us=n * window / 10_000, duration_us=window / 10_000, device_busy_share=0.5,
                 loader_share=0.1)
        for n in range(10)
    ]  # fmt: skip
    return TraceTimeline(window_ns=window, names=CLASSES, classes=CLASSES, lanes=lanes, steps=steps)


def frames(index: TimelineIndex) -> list[tuple[str, float]]:
    """The cost of a frame at three scales."""
    cells = 90
    everything = views.TimeView(0, index.window_ns)
    step = views.first_view(index)
    near = step
    for _ in range(6):
        near = views.zoomed(index, near, 1, cells)
    shown_views = (("whole window", everything), ("one step", step), ("zoomed in", near))
    return [(name, least_ms(partial(one_frame, index, view))) for name, view in shown_views]


def one_frame(index: TimelineIndex, view: views.TimeView) -> None:
    timeline_lines(index, view, 0, WIDTH, HEIGHT, textured=False)


def screenful(table: AnyTable, order: list[int], top: int) -> None:
    plan = layout(table, WIDTH, table.sort)
    for at in order[top : top + HEIGHT]:
        row_line(table, plan, at)


def operators(rows: int) -> AnyTable:
    figures = [
        OperatorFigures(
            name=f"aten::operator_{n % 977}", count=n, total_us=float(n), self_us=float(n * 7919 % rows),
            device_us=float(n), self_device_us=float(n), share=n / rows, host_per_device=0.5,
        )
        for n in range(rows)
    ]  # fmt: skip
    make = TABS[0].table
    assert make is not None
    return make(TraceContext(report=TraceReport(ranks=[RankReport(rank=0, path="", operators=figures)])))


def table_costs(table: AnyTable) -> list[tuple[str, float]]:
    everything = range(len(table.rows))
    order = arranged(table, table.sort, descending=True, among=everything)
    texts = searched(table)
    last = max(0, len(order) - HEIGHT)
    return [
        ("a screenful", least_ms(lambda: screenful(table, order, last))),
        ("sort", least_ms(lambda: arranged(table, table.sort, descending=True, among=everything))),
        ("first letter of a filter", least_ms(lambda: searched(table))),
        ("each further letter", least_ms(lambda: matching(texts, "operator_97"))),
    ]


def shown(title: str, sizes: list[tuple[int, list[tuple[str, float]]]]) -> None:
    print(title)
    for at, (name, _) in enumerate(sizes[0][1]):
        base = sizes[0][1][at][1]
        costs = "  ".join(f"{size:>7,}: {rows[at][1]:8.2f} ms" for size, rows in sizes)
        print(f"  {name:<26}{costs}   x{sizes[-1][1][at][1] / base:.1f}")


def main() -> None:
    sizes = (2_000, 20_000, 200_000)
    timelines = [(size, made(size)) for size in sizes]
    indexes = [(size, timeline_index(timeline)) for size, timeline in timelines]
    shown("a frame of the timeline, spans", [(size, frames(index)) for size, index in indexes])
    making = [(size, [("making it ready (thread)", least_ms(partial(timeline_index, each)))])
              for size, each in timelines]  # fmt: skip
    shown("reading", making)
    shown("operators, rows", [(size, table_costs(operators(size))) for size in (600, 6_000, 60_000)])
    events = [(size, table_costs(events_table(TraceContext(timeline=index)))) for size, index in indexes]
    shown("events, rows", events)


if __name__ == "__main__":
    main()
