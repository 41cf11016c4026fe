"""The rows on a window itself: its ranks, and whether it can be believed."""

from collections.abc import Sequence
from typing import NamedTuple

from perftui.ipc.trace_report import RankReport, RankWait, TrustCheck
from perftui.ipc.view import ProfileRank
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.trace_columns import (
    name_column,
    share_column,
    time_column,
)
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_details import said, whole_name
from perftui.tui.renderables.trace_table import Column


class RankRow(NamedTuple):
    """One rank: what its trace, the others' traces and the hub say of it."""

    rank: int
    report: RankReport | None
    wait: RankWait | None
    profile: ProfileRank | None
    straggler: bool
    each: str = "rank"


def rank_rows(context: TraceContext) -> list[RankRow]:
    """Return all ranks of a window."""
    report, view = context.report, context.view
    reports = {row.rank: row for row in report.ranks} if report else {}
    waits = {row.rank: row for row in report.waits} if report else {}
    told = {row.rank: row for row in view.ranks} if view else {}
    straggler = report.straggler if report else None
    return [
        RankRow(rank, reports.get(rank), waits.get(rank), told.get(rank), rank == straggler, context.each)
        for rank in context.ranks
    ]


def _title(row: RankRow) -> str:
    error = row.report.error if row.report else None
    told = row.profile
    trouble = f"✖ {error}" if error else ""
    if not trouble and told is not None and told.state not in ("done", ""):
        trouble = f"{told.state}: {told.reason}" if told.reason else told.state
    mark = "▲ the others wait for it" if row.straggler else trouble
    return f"{row.each} {row.rank}  {mark}".rstrip()


def _window_us(row: RankRow) -> float | None:
    if row.report is not None and not row.report.error:
        return _in_us(row.report.window_ms)
    ms = row.profile.window_ms if row.profile else None
    return None if ms is None else ms * 1000


def _loader(row: RankRow) -> float | None:
    told = row.profile.loader_share if row.profile else None
    return row.report.loader_share if row.report and row.report.loader_share is not None else told


def _in_us(ms: float | None) -> float | None:
    return None if ms is None else ms * 1000


RANKS: tuple[Column[RankRow], ...] = (
    Column("rank", _title, lambda row: float(row.rank), width=0),
    time_column("window", _window_us, 4, width=10),
    share_column("loader", _loader, 1),
    share_column("GPU idle", lambda row: row.report.gpu.idle if row.report and row.report.gpu else None),
    share_column(
        "comm alone",
        lambda row: row.report.gpu.comm_exposed if row.report and row.report.gpu else None,
        3,
        11,
    ),
    time_column("waits", lambda row: row.wait.wait_us if row.wait else None, width=10),
    time_column("late by", lambda row: row.wait.late_us if row.wait else None, 2, width=10),
    share_column("last", lambda row: row.wait.last_share if row.wait else None, 5),
    time_column("before", lambda row: _in_us(row.profile.step_ms_before) if row.profile else None, 7, 10),
    time_column("after", lambda row: _in_us(row.profile.step_ms_after) if row.profile else None, 8, 10),
    time_column("stall", lambda row: _in_us(row.profile.stall_ms) if row.profile else None, 6, 10),
)


def rank_details(row: RankRow, width: int) -> Sequence[Line]:
    """Return what was said of a rank, and where its trace is."""
    lines: list[Line] = []
    report = row.report
    if report is not None:
        lines += said("says", report.error or report.sentence or fmt.NOTHING, width)
        lines += said(
            "on", f"{report.host or 'unknown host'}, {report.device_name or 'no device named'}", width
        )
        lines += said("events", fmt.count(report.events), width)
        for note in report.notes:
            lines += said("note", note, width)
    if row.wait is not None:
        lines += said("matched", f"{row.wait.matched:,} collectives that all ranks ran", width)
    if row.profile is not None:
        costs = ", ".join(f"{name} {fmt.milliseconds(ms)}" for name, ms in row.profile.cost_ms.items())
        lines += said("it cost", costs, width) if costs else []
        snapshot = row.profile.snapshot
        lines += (
            [*said("allocations", "for torch's memory viewer:", width), *whole_name(snapshot, width)]
            if snapshot
            else []
        )
    path = report.path if report is not None else row.profile.path if row.profile else None
    return [*lines, *(whole_name(path, width) if path else [])]


class TrustRow(NamedTuple):
    """A check, or a note of the analysis."""

    name: str
    passed: bool | None
    value: float | None
    text: str
    suppresses: Sequence[str]
    note: bool = False


def trust_rows(context: TraceContext) -> list[TrustRow]:
    """Return the checks of the rank in view, failed ones first, then what the analysis notes."""
    mine = context.rank_report
    checks = sorted(mine.trust if mine else [], key=_trust_order)
    notes = [*(context.report.notes if context.report else []), *(mine.notes if mine else [])]
    notes += context.view.window_notes if context.view else []
    return [
        *(TrustRow(each.name, each.passed, each.value, each.text, each.suppresses) for each in checks),
        *(TrustRow("note", None, None, text, (), note=True) for text in notes),
    ]


def _trust_order(check: TrustCheck) -> int:
    return {False: 0, None: 1, True: 2}[check.passed]


def _result(row: TrustRow) -> str:
    if row.note:
        return "○ note"
    return {True: "✔ passed", False: "✖ failed", None: "○ not asked"}[row.passed]


def _result_role(row: TrustRow) -> str:
    return {True: "fine", False: "critical", None: "dim"}[row.passed]


def _rank_of_result(row: TrustRow) -> float:
    return {False: 2.0, None: 1.0, True: 0.0}[row.passed] - row.note


TRUST: tuple[Column[TrustRow], ...] = (
    Column("result", _result, _rank_of_result, 15, left=True, role=_result_role),
    name_column("check", lambda row: row.name.replace("_", " ")),
    Column("value", lambda row: fmt.number(row.value), lambda row: row.value, 9, spare=2),
    name_column("says", lambda row: row.text, 1, sentence=True),
)


def trust_details(row: TrustRow, width: int) -> Sequence[Line]:
    """Return a check's words in full, and what it takes away."""
    lines = said("says", row.text, width)
    if row.suppresses:
        verb = "do not believe" if row.passed is False else "it guards"
        lines += said(verb, ", ".join(row.suppresses), width)
    return lines
