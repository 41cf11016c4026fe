"""The columns of the large tables of a profile: operators, kernels, gaps, waits, communication."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from perftui.ipc.trace_report import (
    CollectiveFigures,
    CopyFigures,
    IdleGap,
    KernelClassFigures,
    KernelFigures,
    OperatorFigures,
    StepSpan,
    SyncFigures,
)
from perftui.ipc.view import KernelRow, OperatorRow
from perftui.tui import format as fmt
from perftui.tui.renderables.trace_classes import gap_words, look_of
from perftui.tui.renderables.trace_table import Column

_Row = TypeVar("_Row")


def record(row: msgspec.Struct) -> Mapping[str, object]:
    """Return all fields of a row, for an export."""
    fields: dict[str, object] = msgspec.to_builtins(row)
    return fields


def name_column(
    heading: str,
    name: Callable[[_Row], str | None],
    spare: int = 0,
    role: Callable[[_Row], str] | None = None,
    *,
    sentence: bool = False,
) -> Column[_Row]:
    """Return a column of texts."""
    return Column(
        heading,
        lambda row: name(row) or fmt.NOTHING,
        lambda row: (name(row) or "").lower() or None,
        width=0,
        sentence=sentence,
        spare=spare,
        role=role,
    )


def time_column(
    heading: str, value: Callable[[_Row], float | None], spare: int = 0, width: int = 11
) -> Column[_Row]:
    """Return a column of durations, given in µs."""
    return Column(heading, lambda row: fmt.microseconds(value(row)), value, width, spare=spare)


def count_column(
    heading: str, value: Callable[[_Row], int | None], spare: int = 0, width: int = 8
) -> Column[_Row]:
    """Return a column of whole numbers."""
    return Column(heading, lambda row: fmt.count_in(width, value(row)), value, width, spare=spare)


def number_column(
    heading: str, value: Callable[[_Row], float | None], spare: int = 0, width: int = 10
) -> Column[_Row]:
    """Return a column of numbers."""
    return Column(heading, lambda row: fmt.number(value(row)), value, width, spare=spare)


def share_column(
    heading: str, value: Callable[[_Row], float | None], spare: int = 0, width: int = 9
) -> Column[_Row]:
    """Return a column of shares (0 to 1)."""
    return Column(heading, lambda row: fmt.percent(value(row)), value, width, spare=spare)


def word_column(heading: str, value: Callable[[_Row], str], width: int, spare: int = 0) -> Column[_Row]:
    """Return a narrow column of words."""
    return Column(heading, value, lambda row: value(row).lower(), width, left=True, spare=spare)


def _yes(value: bool | None) -> str:
    return fmt.NOTHING if value is None else "yes" if value else "no"


HOST_OPERATORS: tuple[Column[OperatorFigures], ...] = (
    name_column("operator", lambda row: row.name),
    count_column("calls", lambda row: row.count, 3, width=9),
    time_column("self CPU", lambda row: row.self_us, 1),
    time_column("CPU total", lambda row: row.total_us, 2),
    share_column("share", lambda row: row.share),
)
OPERATORS: tuple[Column[OperatorFigures], ...] = (
    name_column("operator", lambda row: row.name),
    count_column("calls", lambda row: row.count, 4, width=9),
    time_column("self CPU", lambda row: row.self_us, 1),
    time_column("CPU total", lambda row: row.total_us, 5),
    time_column("self GPU", lambda row: row.self_device_us),
    time_column("GPU total", lambda row: row.device_us, 3),
    number_column("CPU/GPU", lambda row: row.host_per_device, 2, width=9),
    share_column("share", lambda row: row.share),
)
LIGHT_OPERATORS: tuple[Column[OperatorRow], ...] = (
    name_column("operator", lambda row: row.name),
    count_column("calls", lambda row: row.count, 3, width=9),
    time_column("self CPU", lambda row: row.self_cpu_us, 1),
    time_column("CPU total", lambda row: row.cpu_us, 2),
    time_column("self GPU", lambda row: row.self_device_us, 4),
    share_column("share", lambda row: row.share),
)
KERNELS: tuple[Column[KernelFigures], ...] = (
    name_column("kernel", lambda row: row.name, role=lambda row: look_of(row.kind).role),
    word_column("class", lambda row: row.kind, 17, 3),
    count_column("calls", lambda row: row.count, 1, width=9),
    time_column("total", lambda row: row.total_us),
    time_column("alone", lambda row: row.self_us, 5),
    time_column("mean", lambda row: row.mean_us, 2),
    time_column("longest", lambda row: row.max_us, 4),
    word_column("tensor", lambda row: _yes(row.tensor_cores), 8, 6),
    share_column("share", lambda row: row.share),
)
LIGHT_KERNELS: tuple[Column[KernelRow], ...] = (
    name_column("kernel", lambda row: row.name),
    count_column("calls", lambda row: row.count, 1, width=9),
    time_column("total", lambda row: row.total_us),
    share_column("share", lambda row: row.share),
)
CLASSES: tuple[Column[KernelClassFigures], ...] = (
    name_column("class of kernels", lambda row: row.kind, role=lambda row: look_of(row.kind).role),
    count_column("calls", lambda row: row.count, width=9),
    time_column("total", lambda row: row.total_us),
    share_column("tensor cores", lambda row: row.tensor_core_share, 1, width=14),
    share_column("share", lambda row: row.share),
)
GAPS: tuple[Column[IdleGap], ...] = (
    time_column("from", lambda row: row.start_us, 1, width=9),
    time_column("idle", lambda row: row.duration_us),
    word_column("waited for", lambda row: gap_words(row.kind), 19),
    name_column("the host was in", lambda row: row.host),
    name_column("ended by", lambda row: row.before, 2),
    count_column("step", lambda row: row.step, 3),
)
GPU_OF_GAP: Column[IdleGap] = count_column("GPU", lambda row: row.device, 4, width=5)
SYNCS: tuple[Column[SyncFigures], ...] = (
    name_column("call that waits", lambda row: row.call),
    name_column("operator", lambda row: row.operator, 2),
    name_column("where", lambda row: row.where, 3),
    count_column("calls", lambda row: row.count, 4),
    number_column("per step", lambda row: row.per_step, 1),
    time_column("total", lambda row: row.total_us),
    share_column("share", lambda row: row.share),
)
COLLECTIVES: tuple[Column[CollectiveFigures], ...] = (
    name_column("collective", lambda row: row.name),
    word_column("group", lambda row: row.group or fmt.NOTHING, 12, 4),
    count_column("calls", lambda row: row.count, 2),
    Column("size", lambda row: fmt.mebibytes(row.mib), lambda row: row.mib, 10, spare=3),
    time_column("total", lambda row: row.total_us),
    time_column("exposed", lambda row: row.exposed_us),
    time_column("waiting", lambda row: row.wait_us, 1),
)
COPIES: tuple[Column[CopyFigures], ...] = (
    name_column("copy", lambda row: row.kind),
    word_column("pageable", lambda row: _yes(row.pageable), 10, 3),
    count_column("calls", lambda row: row.count, 1),
    number_column("per step", lambda row: row.per_step, 4),
    Column("size", lambda row: fmt.mebibytes(row.mib), lambda row: row.mib, 10, spare=2),
    number_column("GiB/s", lambda row: row.gib_s, 5, width=8),
    time_column("total", lambda row: row.total_us),
    time_column("host", lambda row: row.call_us, 6),
    time_column("exposed", lambda row: row.exposed_us),
)
STEPS: tuple[Column[StepSpan], ...] = (
    Column("step", lambda row: f"step {row.step:,}", lambda row: float(row.step), width=0),
    time_column("from", lambda row: row.start_us),
    time_column("took", lambda row: row.duration_us),
    share_column("loader", lambda row: row.loader_share),
    share_column("GPU busy", lambda row: row.device_busy_share, width=10),
)
