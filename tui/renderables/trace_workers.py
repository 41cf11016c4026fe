"""Where the loader workers were while a window recorded: one row a function of a worker."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.trace_columns import name_column, record, share_column, word_column
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_details import said, whole_name
from perftui.tui.renderables.trace_table import AnyTable, Column, Table

_REASONS = ("py-spy", "no loader worker could be looked at")
"""How the notes on it begin."""


class _FrameRow(NamedTuple):
    worker: WorkerStacks
    frame: WorkerFrame


def _worker(row: _FrameRow) -> str:
    number = row.worker.number
    return f"worker {number}" if number is not None else f"pid {row.worker.pid}"


COLUMNS: tuple[Column[_FrameRow], ...] = (
    name_column("function", lambda row: row.frame.function),
    name_column("where", lambda row: f"{row.frame.file}:{row.frame.line}", 1),
    word_column("worker", _worker, 14, 2),
    share_column("total", lambda row: row.frame.total_share, 3),
    share_column("self", lambda row: row.frame.self_share),
)


def workers_table(context: TraceContext) -> AnyTable:
    """Return the functions that were on the stacks of the workers of the rank in view."""
    stacks = context.view.worker_stacks if context.view else []
    mine = [each for each in stacks if each.rank == context.chosen]
    rows = [_FrameRow(each, frame) for each in mine for frame in each.frames]
    return Table(
        COLUMNS,
        rows,
        len(COLUMNS) - 1,
        "no stack of a loader worker was sampled; the notes under trust say why" if mine
        else _why_none(context),
        search=lambda row: f"{row.frame.function} {row.frame.file} {_worker(row)}",
        record=_record,
        share=lambda row: row.frame.self_share,
        details=_details,
    )  # fmt: skip


def _why_none(context: TraceContext) -> str:
    """Say that no worker was looked into, with the window's note on why."""
    notes = context.view.window_notes if context.view else []
    why = next((note for note in notes if note.startswith(_REASONS)), "")
    return f"no loader worker was looked into{f': {why}' if why else ''}"


def _record(row: _FrameRow) -> Mapping[str, object]:
    worker = {"rank": row.worker.rank, "pid": row.worker.pid, "number": row.worker.number}
    return worker | {"samples": row.worker.samples} | dict(record(row.frame))


def _details(row: _FrameRow, width: int) -> Sequence[Line]:
    looks = f"{row.worker.samples:,} looks, on a core in {fmt.percent(row.worker.active_share)} of them"
    place = f"{row.frame.file}:{row.frame.line}"
    return [
        *whole_name(row.frame.function, width),
        *whole_name(place, width),
        *said("worker", f"{_worker(row)}, pid {row.worker.pid}: {looks}", width),
    ]
