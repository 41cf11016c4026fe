"""The tables of a trace screen, one tab each."""

from perftui.tui.renderables.timeline_index import timeline_index
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_table import AnyTable
from perftui.tui.renderables.trace_tabs import TABS
from tests.tui import trace_scenes

FULL = TraceContext(report=trace_scenes.two_ranks(), timeline=timeline_index(trace_scenes.timeline()))


def table_of(tab: str, context: TraceContext = FULL) -> AnyTable:
    make = next(each.table for each in TABS if each.id == tab)
    assert make is not None
    return make(context)
