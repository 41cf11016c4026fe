"""All recorded events of a rank as one table, in the order in which they began."""

from collections.abc import Mapping, Sequence

from perftui.tui.renderables.lines import Line, Run
from perftui.tui.renderables.span_details import span_details
from perftui.tui.renderables.timeline_index import Span, TimelineIndex
from perftui.tui.renderables.trace_columns import name_column, time_column, word_column
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_table import AnyTable, Column, Table

_NONE = TimelineIndex(window_ns=1, names=(), classes=(), lines=(), steps=(), undrawn=0)
_LANE = 22


def events_table(context: TraceContext) -> AnyTable:
    """Return the table of the rank in view."""
    index = context.timeline or _NONE

    def name(row: Span) -> str:
        return index.names[index.lines[row.line].names[row.at]]

    def start_us(row: Span) -> float:
        return index.lines[row.line].starts[row.at] / 1000

    def details(row: Span, width: int) -> Sequence[Line]:
        return [(Run(" │ ", "frame"), *part) for part in span_details(index, row, width - 3)]

    return Table(
        _columns(index),
        index.events,
        0,
        context.why_no_timeline or context.why_empty or "no events in this timeline",
        search=name,
        record=lambda row: _record(index, row),
        details=details,
        at_us=start_us,
        descending=False,
    )


def _columns(index: TimelineIndex) -> Sequence[Column[Span]]:
    def kind(row: Span) -> str:
        return index.classes[index.lines[row.line].names[row.at]]

    def took_us(row: Span) -> float:
        track = index.lines[row.line]
        return (track.ends[row.at] - track.starts[row.at]) / 1000

    return (
        time_column("from", lambda row: index.lines[row.line].starts[row.at] / 1000),
        name_column("event", lambda row: index.names[index.lines[row.line].names[row.at]]),
        word_column("class", kind, 17, 1),
        word_column("lane", lambda row: index.lines[row.line].title, _LANE, 2),
        time_column("took", took_us),
    )


def _record(index: TimelineIndex, row: Span) -> Mapping[str, object]:
    track = index.lines[row.line]
    return {
        "name": index.names[track.names[row.at]],
        "kind": index.classes[track.names[row.at]],
        "lane": track.title,
        "depth": track.depth,
        "start_ns": track.starts[row.at],
        "duration_ns": track.ends[row.at] - track.starts[row.at],
    }
