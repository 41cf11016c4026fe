"""What changed between two trace reports: parts, operators, kernels per step, biggest movers first. Pure."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from perftui.ipc.trace_report import (
    GAP_KINDS,
    KERNEL_LIMIT,
    OPERATOR_LIMIT,
    GpuShares,
    IdleShares,
    RankReport,
)

MOVER_LIMIT = 200

_PARTS = ("compute_only", "overlap", "comm_exposed", "mem_exposed", "idle")


class Mover(msgspec.Struct, frozen=True, kw_only=True):
    """One part, operator or kernel in both reports.

    0 where it did not occur; None where the report cannot tell: nothing was recorded there, or the list that
    it is missing from was cut. `TraceDifference.notes` has the reason.
    """

    name: str
    before_us: float | None
    """By step, or by window where `TraceDifference.per` says so."""
    after_us: float | None
    change_us: float | None
    """None where one of the two is."""
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


def rank_difference(before: RankReport, after: RankReport) -> TraceDifference:
    """Return what changed from one rank's report to another."""
    by_step = bool(before.steps and after.steps)
    first = float(len(before.steps)) if by_step else 1.0
    second = float(len(after.steps)) if by_step else 1.0
    return TraceDifference(
        rank=after.rank,
        per="step" if by_step else "window",
        total=_mover("window", _window_us(before, first), _window_us(after, second)),
        parts=_moved(_parts(before, first), _parts(after, second)),
        idle=_moved(_idle(before, first), _idle(after, second)),
        operators=_rows(_operators(before, first), _operators(after, second)),
        kernels=_rows(_kernels(before, first), _kernels(after, second)),
        notes=_notes(before, after),
    )


class _Listed(NamedTuple):
    """What one report has of operators or kernels."""

    rows: dict[str, tuple[float, float]]
    """Name → microseconds and count, by step."""
    complete: bool
    """Whether what is not among them did not occur."""


def _operators(report: RankReport, steps: float) -> _Listed:
    rows = {one.name: (one.self_us / steps, one.count / steps) for one in report.operators}
    return _Listed(rows, 0 < len(report.operators) < OPERATOR_LIMIT)


def _kernels(report: RankReport, steps: float) -> _Listed:
    rows = {one.name: (one.total_us / steps, one.count / steps) for one in report.kernels}
    return _Listed(rows, report.gpu is not None and len(report.kernels) < KERNEL_LIMIT)


def _window_us(report: RankReport, steps: float) -> float | None:
    return None if report.window_ms is None else report.window_ms * 1000 / steps


def _parts(report: RankReport, steps: float) -> dict[str, float]:
    return _by_step(report, report.gpu, _PARTS, steps)


def _idle(report: RankReport, steps: float) -> dict[str, float]:
    return _by_step(report, report.idle, GAP_KINDS, steps)


def _by_step(
    report: RankReport, shares: GpuShares | IdleShares | None, names: Iterable[str], steps: float
) -> dict[str, float]:
    """Return shares of the window as microseconds a step; empty where they are not known."""
    if shares is None or report.window_ms is None:
        return {}
    return {name: getattr(shares, name) * report.window_ms * 1000 / steps for name in names}


def _moved(before: dict[str, float], after: dict[str, float]) -> list[Mover]:
    """Return movers of figures that one of the reports has."""
    return _sorted(_mover(name, before.get(name), after.get(name)) for name in before or after)


def _rows(before: _Listed, after: _Listed) -> list[Mover]:
    movers: list[Mover] = []
    for name in before.rows.keys() | after.rows.keys():
        before_us, before_count = _of(before, name)
        after_us, after_count = _of(after, name)
        mover = _mover(name, before_us, after_us)
        movers.append(msgspec.structs.replace(mover, before_count=before_count, after_count=after_count))
    return _sorted(movers)[:MOVER_LIMIT]


def _of(listed: _Listed, name: str) -> tuple[float | None, float | None]:
    return listed.rows.get(name, (0.0, 0.0) if listed.complete else (None, None))


def _mover(name: str, before_us: float | None, after_us: float | None) -> Mover:
    change_us = None if before_us is None or after_us is None else after_us - before_us
    return Mover(name=name, before_us=before_us, after_us=after_us, change_us=change_us)


def _sorted(movers: Iterable[Mover]) -> list[Mover]:
    """Return the biggest change first; what is not known on one side goes by the other."""
    return sorted(movers, key=lambda mover: (-_size(mover), mover.name))


def _size(mover: Mover) -> float:
    if mover.change_us is not None:
        return abs(mover.change_us)
    return mover.before_us or mover.after_us or 0.0


def _notes(before: RankReport, after: RankReport) -> list[str]:
    notes: list[str] = []
    if not (before.steps and after.steps):
        notes.append("without step marks in both, times are those of the windows, whatever their lengths")
    if before.device_name != after.device_name:
        notes.append(f"other devices: {before.device_name} before, {after.device_name} after")
    for report, other, when in ((before, after, "before"), (after, before, "after")):
        if report.gpu is None and other.gpu is not None:
            notes.append(f"{when}: nothing was recorded on a GPU, so what it did there is not known")
        if not report.operators and other.operators:
            notes.append(f"{when}: no operator was recorded, so what they took there is not known")
        if len(report.operators) >= OPERATOR_LIMIT or len(report.kernels) >= KERNEL_LIMIT:
            notes.append(f"{when}: only the costliest operators and kernels are in the report")
        notes += [f"{when}: {check.text}" for check in report.trust if check.passed is False]
    return notes
