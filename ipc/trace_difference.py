"""What changed between two trace reports: parts, operators and kernels per step, biggest movers first. Pure."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from perftui.ipc.trace_report import RankReport, TraceReport

MOVER_LIMIT = 200

_PARTS = ("compute_only", "overlap", "comm_exposed", "mem_exposed", "idle")
_IDLE_KINDS = ("loader", "sync_call", "host_other", "launch_latency", "dependency")


class Mover(msgspec.Struct, frozen=True, kw_only=True):
    """One part, operator or kernel in both reports; 0 where it did not occur."""

    name: str
    before_us: float
    """By step, or by window where `TraceDifference.per` says so."""
    after_us: float
    change_us: float
    before_count: float | None = None
    """By step, too; None for parts."""
    after_count: float | None = None


class TraceDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One rank, before and after."""

    rank: int
    per: Literal["step", "window"]
    """Window, where one of the traces has no step marks: the windows' lengths are then in every figure."""
    total: Mover
    """The window itself."""
    parts: list[Mover] = []
    """The five parts of the device's time."""
    idle: list[Mover] = []
    """Idle time by what the device waited for."""
    operators: list[Mover] = []
    """Their own time on the host."""
    kernels: list[Mover] = []
    """Kernels, copies and fills: their time on the device."""
    notes: list[str] = []
    """What speaks against comparing the two."""


def report_difference(before: TraceReport, after: TraceReport) -> list[TraceDifference]:
    """Return the differences of all ranks that both reports could read, in order of rank."""
    known = {rank.rank: rank for rank in before.ranks if rank.error is None}
    return [
        rank_difference(known[rank.rank], rank)
        for rank in sorted(after.ranks, key=lambda one: one.rank)
        if rank.error is None and rank.rank in known
    ]


def rank_difference(before: RankReport, after: RankReport) -> TraceDifference:
    """Return what changed from one rank's report to another."""
    by_step = bool(before.steps and after.steps)
    first = float(len(before.steps)) if by_step else 1.0
    second = float(len(after.steps)) if by_step else 1.0
    return TraceDifference(
        rank=after.rank,
        per="step" if by_step else "window",
        total=_mover("window", before.window_ms * 1000 / first, after.window_ms * 1000 / second),
        parts=_moved(_parts(before, first), _parts(after, second)),
        idle=_moved(_idle(before, first), _idle(after, second)),
        operators=_rows(
            ((one.name, one.self_us / first, one.count / first) for one in before.operators),
            ((one.name, one.self_us / second, one.count / second) for one in after.operators),
        ),
        kernels=_rows(
            ((one.name, one.total_us / first, one.count / first) for one in before.kernels),
            ((one.name, one.total_us / second, one.count / second) for one in after.kernels),
        ),
        notes=_notes(before, after),
    )


def _parts(report: RankReport, steps: float) -> dict[str, float]:
    if report.gpu is None:
        return {}
    return {part: getattr(report.gpu, part) * report.window_ms * 1000 / steps for part in _PARTS}


def _idle(report: RankReport, steps: float) -> dict[str, float]:
    if report.idle is None:
        return {}
    return {kind: getattr(report.idle, kind) * report.window_ms * 1000 / steps for kind in _IDLE_KINDS}


def _moved(before: dict[str, float], after: dict[str, float]) -> list[Mover]:
    """Return movers of figures that both reports have."""
    return _sorted(_mover(name, before[name], after[name]) for name in before if name in after)


def _rows(
    before: Iterable[tuple[str, float, float]], after: Iterable[tuple[str, float, float]]
) -> list[Mover]:
    first = {name: (us, count) for name, us, count in before}
    second = {name: (us, count) for name, us, count in after}
    nothing = (0.0, 0.0)
    movers: list[Mover] = []
    for name in first.keys() | second.keys():
        (before_us, before_count), (after_us, after_count) = (
            first.get(name, nothing),
            second.get(name, nothing),
        )
        movers.append(
            Mover(
                name=name,
                before_us=before_us,
                after_us=after_us,
                change_us=after_us - before_us,
                before_count=before_count,
                after_count=after_count,
            )
        )
    return _sorted(movers)[:MOVER_LIMIT]


def _mover(name: str, before_us: float, after_us: float) -> Mover:
    return Mover(name=name, before_us=before_us, after_us=after_us, change_us=after_us - before_us)


def _sorted(movers: Iterable[Mover]) -> list[Mover]:
    return sorted(movers, key=lambda mover: (-abs(mover.change_us), mover.name))


def _notes(before: RankReport, after: RankReport) -> list[str]:
    notes: list[str] = []
    if not (before.steps and after.steps):
        notes.append("without step marks in both, times are those of the windows, whatever their lengths")
    if before.device_name != after.device_name:
        notes.append(f"other devices: {before.device_name} before, {after.device_name} after")
    for report, when in ((before, "before"), (after, "after")):
        notes += [f"{when}: {check.text}" for check in report.trust if check.passed is False]
    return notes
