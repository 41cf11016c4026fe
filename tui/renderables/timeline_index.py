"""A timeline made ready to be drawn at any scale: each line of a lane as sorted columns with running sums.

What covers a stretch of time is then two binary searches a class, however many spans lie in it: 200,000 of
them cost a frame no more than 200.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, overload

from perftui.ipc.trace_report import StepSpan, TimelineLane, TraceTimeline

DEPTHS_MAX = 32
"""Lines of one lane; what is nested deeper is counted, not drawn."""


@dataclass(frozen=True)
class ClassColumns:
    """What spans of one class cover on one line: no two overlap, for what two cover counts once."""

    name: str
    starts: "array[int]"
    ends: "array[int]"
    sums: "array[int]"
    """Of the durations before each span; one longer than the spans."""

    def until(self, time_ns: int, low: int = 0) -> tuple[int, int]:
        """Return what these spans cover before a time, in ns, and how many of them begin before it.

        `low` is that count for an earlier time, from which the search may begin.
        """
        at = bisect_left(self.starts, time_ns, low)
        if at == 0:
            return 0, 0
        return self.sums[at] - max(0, self.ends[at - 1] - time_ns), at


@dataclass(frozen=True)
class TrackLine:
    """The spans of one lane at one depth: one line of the picture."""

    lane: int
    depth: int
    title: str
    """Of the lane."""
    kind: str
    starts: "array[int]"
    ends: "array[int]"
    reach: "array[int]"
    """The latest end so far: kernels of one stream may overlap by a little."""
    names: "array[int]"
    classes: Sequence[ClassColumns]
    callers: Sequence[int | None] = ()
    """What launched each span, as index into the names; empty where the timeline does not tell."""
    launched_ns: Sequence[int | None] = ()


class Span(NamedTuple):
    """One span of a line."""

    line: int
    at: int


@dataclass(frozen=True)
class TimelineIndex:
    """The lines of a timeline, streams first."""

    window_ns: int
    names: Sequence[str]
    classes: Sequence[str]
    """Of each name."""
    lines: Sequence[TrackLine]
    steps: Sequence[StepSpan]
    undrawn: int
    """Spans nested deeper than `DEPTHS_MAX`, or with a name that is not in the file."""
    events: Sequence[Span] = ()
    """All spans that are drawn, by start."""
    left_out: int = 0
    """Spans that the file does not have, the shortest ones."""

    def covering(self, line: int, time_ns: int) -> int | None:
        """Return the span of a line at a time."""
        track = self.lines[line]
        at = bisect_right(track.starts, time_ns) - 1
        first = bisect_right(track.reach, time_ns)
        return next((i for i in range(at, first - 1, -1) if track.ends[i] > time_ns), None)

    def touching(self, line: int, start_ns: int, end_ns: int) -> range:
        """Return the spans of a line that have a part in [start, end)."""
        track = self.lines[line]
        return range(bisect_right(track.reach, start_ns), bisect_left(track.starts, end_ns))

    def around(self, span: Span) -> list[Span]:
        """Return the spans that a span is nested in, the innermost first."""
        track = self.lines[span.line]
        start = track.starts[span.at]
        outer: list[Span] = []
        for line in range(span.line - 1, -1, -1):
            if self.lines[line].lane != track.lane:
                break
            at = self.covering(line, start)
            if at is not None:
                outer.append(Span(line, at))
        return outer

    def innermost(self, lane: int, time_ns: int) -> Span | None:
        """Return the deepest span of a lane at a time."""
        for line in range(len(self.lines) - 1, -1, -1):
            if self.lines[line].lane == lane:
                at = self.covering(line, time_ns)
                if at is not None:
                    return Span(line, at)
        return None


def timeline_index(timeline: TraceTimeline) -> TimelineIndex:
    """Sort a timeline into lines. Costs some microseconds a span: not for the thread that paints."""
    lanes = [(at, lane) for at, lane in enumerate(timeline.lanes) if lane.start_ns]
    lanes.sort(key=lambda pair: pair[1].kind != "stream")
    lines: list[TrackLine] = []
    undrawn = 0
    for at, lane in lanes:
        made, left = _lines(at, lane, timeline)
        lines += made
        undrawn += left
    classes = [*timeline.classes, *["other"] * (len(timeline.names) - len(timeline.classes))]
    return TimelineIndex(
        window_ns=max(1, timeline.window_ns),
        names=timeline.names,
        classes=classes,
        lines=lines,
        steps=sorted(timeline.steps, key=lambda step: step.start_us),
        undrawn=undrawn,
        events=EventRows(lines),
        left_out=timeline.left_out,
    )


def _lines(at: int, lane: TimelineLane, timeline: TraceTimeline) -> tuple[list[TrackLine], int]:
    by_depth: dict[int, list[int]] = {}
    undrawn = 0
    columns = (lane.depth, lane.name, lane.duration_ns)
    for span, (depth, name, duration) in enumerate(zip(*columns, strict=False)):
        if 0 <= depth < DEPTHS_MAX and 0 <= name < len(timeline.names) and duration >= 0:
            by_depth.setdefault(depth, []).append(span)
        else:
            undrawn += 1
    for spans in by_depth.values():
        spans.sort(key=lane.start_ns.__getitem__)
    lines = [_line(at, lane, depth, by_depth[depth], timeline.classes) for depth in sorted(by_depth)]
    return lines, undrawn


def _line(at: int, lane: TimelineLane, depth: int, spans: list[int], classes: Sequence[str]) -> TrackLine:
    starts = [lane.start_ns[span] for span in spans]
    ends = [lane.start_ns[span] + lane.duration_ns[span] for span in spans]
    names = [lane.name[span] for span in spans]
    by_class: dict[str, list[tuple[int, int]]] = {}
    for start, end, name in zip(starts, ends, names, strict=True):
        kind = classes[name] if name < len(classes) else "other"
        by_class.setdefault(kind, []).append((start, end))
    return TrackLine(
        lane=at,
        depth=depth,
        title=lane.title,
        kind=lane.kind,
        starts=array("q", starts),
        ends=array("q", ends),
        reach=array("q", accumulate(ends, max)),
        names=array("q", names),
        classes=[_class_columns(kind, parts) for kind, parts in sorted(by_class.items())],
        callers=_of_spans(lane.caller, spans),
        launched_ns=_of_spans(lane.launched_ns, spans),
    )


def _of_spans(column: Sequence[int | None], spans: list[int]) -> Sequence[int | None]:
    """Return a column that a lane may lack, or have too short, in the order of the spans; () without one."""
    return [column[span] if span < len(column) else None for span in spans] if column else ()


def _class_columns(name: str, parts: list[tuple[int, int]]) -> ClassColumns:
    starts, ends = array("q"), array("q")
    reached = 0
    for start, end in parts:
        starts.append(max(start, reached))
        reached = max(end, reached)
        ends.append(reached)
    sums = array("q", [0])
    sums.extend(accumulate(end - start for start, end in zip(starts, ends, strict=True)))
    return ClassColumns(name=name, starts=starts, ends=ends, sums=sums)


class EventRows(Sequence[Span]):
    """All spans of a timeline in the order of their starts, made one by one as they are asked for."""

    def __init__(self, lines: Sequence[TrackLine]) -> None:
        spans = [
            (start, number, at) for number, track in enumerate(lines) for at, start in enumerate(track.starts)
        ]
        spans.sort()
        self._lines = array("i", [number for _, number, _ in spans])
        self._positions = array("i", [at for _, _, at in spans])

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> list[Span]: ...
    def __getitem__(self, index: int | slice) -> Span | list[Span]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return Span(self._lines[index], self._positions[index])
