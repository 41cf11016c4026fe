"""The tabs of a profile, as data: one more tab is one more row of `TABS`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perftui.ipc.view import ProfileRank
from perftui.tui import format as fmt
from perftui.tui.renderables import trace_columns as columns
from perftui.tui.renderables import trace_details as details
from perftui.tui.renderables import trace_window as window
from perftui.tui.renderables.lines import Line, Run, line, width_of
from perftui.tui.renderables.trace_classes import gap_words
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_events import events_table
from perftui.tui.renderables.trace_figures import FIGURES, Figure, launch_figures, memory_figures
from perftui.tui.renderables.trace_movers import movers_table
from perftui.tui.renderables.trace_table import AnyTable, Table
from perftui.tui.renderables.trace_workers import workers_table


@dataclass(frozen=True)
class Tab:
    """One tab."""

    id: str
    title: str
    table: Callable[[TraceContext], AnyTable] | None
    """None: the timeline's picture."""


def _operators(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    if mine is None:
        return _light_operators(context.profile_rank, context.why_empty)
    on_device = any(row.device_us for row in mine.operators)
    shown = columns.OPERATORS if on_device else columns.HOST_OPERATORS
    return Table(
        shown,
        mine.operators,
        len(shown) - 1,
        context.why_empty or "no operators in this window",
        search=lambda row: row.name,
        record=columns.record,
        share=lambda row: row.share,
        details=details.operator_details,
    )


def _light_operators(mine: ProfileRank | None, why: str) -> AnyTable:
    rows = mine.operators if mine else []
    on_device = any(row.device_us for row in rows)
    light = columns.LIGHT_OPERATORS
    shown = light if on_device else (*light[:4], light[5])
    return Table(
        shown, rows, len(shown) - 1, why or "no operators in this window",
        search=lambda row: row.name, record=columns.record, share=lambda row: row.share,
        details=lambda row, width: details.whole_name(row.name, width),
    )  # fmt: skip


def _kernels(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    why = context.why_empty or "no kernels in this window"
    if mine is None:
        told = context.profile_rank
        return Table(
            columns.LIGHT_KERNELS, told.kernels if told else [], 3, why,
            search=lambda row: row.name, record=columns.record, share=lambda row: row.share,
            details=lambda row, width: details.whole_name(row.name, width),
        )  # fmt: skip
    return Table(
        columns.KERNELS,
        mine.kernels,
        len(columns.KERNELS) - 1,
        why,
        search=lambda row: f"{row.name} {row.kind}",
        record=columns.record,
        share=lambda row: row.share,
        details=details.kernel_details,
    )


def _classes(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    return Table(
        columns.CLASSES, mine.kernel_classes if mine else [], 2,
        context.why_empty or "no kernels in this window",
        search=lambda row: row.kind, record=columns.record, share=lambda row: row.share,
    )  # fmt: skip


def _gaps(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    rows = mine.gaps if mine else []
    several = any(row.device for row in rows)
    return Table(
        (*columns.GAPS, columns.GPU_OF_GAP) if several else columns.GAPS,
        rows,
        1,
        context.why_empty or ("the GPU was never idle" if mine and mine.gpu else "no GPU in this window"),
        search=lambda row: f"{gap_words(row.kind)} {row.host or ''} {row.before or ''}",
        record=columns.record,
        details=details.gap_details,
        at_us=lambda row: row.start_us,
    )


def _syncs(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    return Table(
        columns.SYNCS, mine.syncs if mine else [], 5,
        context.why_empty or "no call made the host wait for the GPU",
        search=lambda row: f"{row.call} {row.operator or ''} {row.where or ''}",
        record=columns.record, share=lambda row: row.share, details=details.sync_details,
    )  # fmt: skip


def _collectives(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    return Table(
        columns.COLLECTIVES, mine.collectives if mine else [], 5,
        context.why_empty or "no communication in this window",
        search=lambda row: f"{row.name} {row.group or ''}", record=columns.record,
        details=lambda row, width: details.whole_name(row.name, width),
    )  # fmt: skip


def _copies(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    return Table(
        columns.COPIES, mine.memcpy if mine else [], 6, context.why_empty or "no copies in this window",
        search=lambda row: row.kind, record=columns.record,
    )  # fmt: skip


def _figures(rows: Sequence[Figure], empty: str) -> AnyTable:
    return Table(
        FIGURES, rows, -1, empty, search=lambda row: f"{row.name} {row.meaning}", record=_figure_record,
        details=lambda row, width: details.said(row.text, f"{row.name}: {row.meaning}", width),
    )  # fmt: skip


def _figure_record(row: Figure) -> Mapping[str, object]:
    return {"name": row.name, "value": row.value, "unit": row.unit}


def _memory(context: TraceContext) -> AnyTable:
    return _figures(memory_figures(context.rank_report), context.why_empty or "nothing told of memory")


def _launches(context: TraceContext) -> AnyTable:
    return _figures(launch_figures(context.rank_report), context.why_empty or "no launches in this window")


def _steps(context: TraceContext) -> AnyTable:
    mine = context.rank_report
    return Table(
        columns.STEPS, mine.steps if mine else [], 0, context.why_empty or "no step was recorded whole",
        search=lambda row: f"step {row.step}", record=columns.record, at_us=lambda row: row.start_us,
        descending=False,
    )  # fmt: skip


def _ranks(context: TraceContext) -> AnyTable:
    rows = window.rank_rows(context)
    known = [column for column in window.RANKS if any(column.order(row) is not None for row in rows)]
    return Table(
        known or window.RANKS, rows, 0, "no rank has answered yet",
        search=lambda row: f"{row.each} {row.rank}", record=_rank_record, details=window.rank_details,
    )  # fmt: skip


def _rank_record(row: window.RankRow) -> Mapping[str, object]:
    parts = (row.report, row.wait, row.profile)
    named = zip(("report", "wait", "window"), parts, strict=True)
    return {"rank": row.rank} | {name: columns.record(part) for name, part in named if part is not None}


def _trust(context: TraceContext) -> AnyTable:
    return Table(
        window.TRUST, window.trust_rows(context), 0, context.why_empty or "this window was not checked",
        search=lambda row: f"{row.name} {row.text}", record=lambda row: row._asdict(),
        details=window.trust_details,
    )  # fmt: skip


TABS: tuple[Tab, ...] = (
    Tab("operators", "operators", _operators),
    Tab("kernels", "kernels", _kernels),
    Tab("gaps", "idle gaps", _gaps),
    Tab("syncs", "waits", _syncs),
    Tab("communication", "comm", _collectives),
    Tab("copies", "copies", _copies),
    Tab("memory", "memory", _memory),
    Tab("launches", "launches", _launches),
    Tab("classes", "classes", _classes),
    Tab("steps", "steps", _steps),
    Tab("workers", "workers", workers_table),
    Tab("ranks", "ranks", _ranks),
    Tab("trust", "trust", _trust),
    Tab("timeline", "timeline", None),
    Tab("events", "events", events_table),
    Tab("difference", "difference", movers_table),
)


ALL_TABS = tuple(range(len(TABS)))
_OF_A_DEVICE = ("kernels", "gaps", "syncs", "communication", "copies", "launches", "classes")


def tabs_of(context: TraceContext) -> tuple[int, ...]:
    """Return the tabs of a window: where nothing ran on a GPU, without those that have nothing for it."""
    mine = context.rank_report
    if mine is None or mine.error or mine.gpu is not None or mine.kernels:
        return ALL_TABS
    return tuple(at for at, tab in enumerate(TABS) if tab.id not in _OF_A_DEVICE or _has_rows(tab, context))


def _has_rows(tab: Tab, context: TraceContext) -> bool:
    return tab.table is not None and bool(tab.table(context).rows)


def tab_line(chosen: int, width: int, tabs: Sequence[int] = ALL_TABS) -> Line:
    """Name the tabs round the chosen one that fit; dots stand for those that do not."""
    shown = tabs if chosen in tabs else sorted([*tabs, chosen])
    first = last = shown.index(chosen)
    while True:
        grown = False
        for low, high in ((first, last + 1), (first - 1, last)):
            if low >= 0 and high < len(shown) and width_of(_titles(shown, low, high, chosen)) <= width:
                first, last, grown = low, high, True
        if not grown:
            return _titles(shown, first, last, chosen)


def _titles(shown: Sequence[int], first: int, last: int, chosen: int) -> Line:
    runs = [Run("… ", "dim")] if first > 0 else []
    for at in shown[first : last + 1]:
        title = fmt.visible(TABS[at].title)
        runs.append(Run(f"[{title}]" if at == chosen else f" {title} ", "title" if at == chosen else "dim"))
    return line(*runs, Run(" …" if last < len(shown) - 1 else "", "dim"))
