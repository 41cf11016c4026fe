"""What changed since another window: parts, idle time, kernels and operators in one table."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perftui.ipc.trace_difference import Mover, TraceDifference
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.trace_classes import gap_words
from perftui.tui.renderables.trace_columns import name_column, record, time_column, word_column
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_details import said, whole_name
from perftui.tui.renderables.trace_table import AnyTable, Column, Table

_PARTS = {
    "compute_only": "computing",
    "overlap": "computing and communicating",
    "comm_exposed": "communication alone",
    "mem_exposed": "copies alone",
    "idle": "idle",
}


_BEWARE = "a few steps of each: what moved, not whether it got faster; only a relaunch measures that"


class _Row(NamedTuple):
    name: str
    kind: str
    mover: Mover


def movers_table(context: TraceContext) -> AnyTable:
    """Return what moved, the biggest change first; kinds are ledgers of their own and do not add up."""
    found = context.difference
    rows = sorted(_rows(found), key=_place) if found else []
    per = f"/{found.per}" if found else ""
    return Table(
        _columns(per),
        rows,
        4,
        context.why_no_difference or context.why_empty or "nothing moved",
        search=lambda row: f"{row.name} {row.kind}",
        record=_record,
        details=lambda row, width: _details(row, per, width),
        notes=[_BEWARE, *found.notes] if found and rows else (),
    )


def _rows(found: TraceDifference) -> list[_Row]:
    rows = [_Row(f"the whole {found.per}", found.per, found.total)]
    rows += [_Row(_PARTS.get(each.name, each.name), "GPU time", each) for each in found.parts]
    rows += [_Row(f"waiting for {gap_words(each.name)}", "GPU idle", each) for each in found.idle]
    rows += [_Row(each.name, "kernel", each) for each in found.kernels]
    rows += [_Row(each.name, "operator, CPU", each) for each in found.operators]
    return [row for row in rows if row.mover.before_us or row.mover.after_us]


def _place(row: _Row) -> tuple[bool, float]:
    """The biggest change first; where one side is not known, behind them, by the other side."""
    change_us = row.mover.change_us
    if change_us is None:
        return True, -(row.mover.before_us or row.mover.after_us or 0.0)
    return False, -abs(change_us)


def _columns(per: str) -> tuple[Column[_Row], ...]:
    return (
        name_column("what moved", lambda row: row.name),
        word_column("kind", lambda row: row.kind, 17, 2),
        time_column(f"before{per}", lambda row: row.mover.before_us, 1, 14),
        time_column(f"after{per}", lambda row: row.mover.after_us, width=13),
        Column(
            "change",
            lambda row: fmt.change(row.mover.change_us),
            lambda row: None if row.mover.change_us is None else abs(row.mover.change_us),
            12,
            role=_role,
        ),
    )


def _role(row: _Row) -> str:
    change_us = row.mover.change_us or 0.0
    return "warning" if change_us > 0 else "fine" if change_us < 0 else "dim"


def _record(row: _Row) -> Mapping[str, object]:
    return {"kind": row.kind} | dict(record(row.mover))


def _details(row: _Row, per: str, width: int) -> Sequence[Line]:
    mover = row.mover
    times = f"{fmt.microseconds(mover.before_us)}{per} before, {fmt.microseconds(mover.after_us)} after"
    change = "one of the two is not known" if mover.change_us is None else fmt.change(mover.change_us)
    lines = [*whole_name(row.name, width), *said("kind", row.kind, width)]
    lines += said("time", f"{times}: {change}", width)
    if mover.before_count is not None or mover.after_count is not None:
        calls = f"{fmt.number(mover.before_count)}{per} before, {fmt.number(mover.after_count)} after"
        lines += said("calls", calls, width)
    return lines
