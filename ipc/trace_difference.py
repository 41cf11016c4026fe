"""Two windows of one rank compared, before and after a change: what moved, per step.

A kernel or operator that one of two windows lacks took 0 µs there; where a whole ledger (the device's, say)
was not recorded in one of them, nothing is said of it.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from perftui.ipc.trace_report import IdleShares, RankReport

MoverKind = Literal["step", "idle", "kernel", "operator", "communication", "copy"]
"""Kernels and communication are device time; operators the host's own time in them; idle time the device's by
what it waited for. The kinds are ledgers of their own: they do not add up to one another."""


class Mover(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that takes time, in both windows."""

    name: str
    kind: MoverKind
    before_us_per_step: float
    after_us_per_step: float

    @property
    def change_us_per_step(self) -> float:
        """Above 0: it takes more time than before."""
        return self.after_us_per_step - self.before_us_per_step


class TraceDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What moved, the biggest change first."""

    steps_before: int
    steps_after: int
    movers: list[Mover] = []
    notes: list[str] = []


def trace_difference(before: RankReport, after: RankReport) -> TraceDifference:
    """Compare two windows of a rank by their time per recorded step."""
    steps_before, steps_after = len(before.steps), len(after.steps)
    which = [name for name, steps in (("before", steps_before), ("after", steps_after)) if not steps]
    if which:
        note = f"no step was recorded in the window {' and the one '.join(which)}: nothing can be compared"
        return TraceDifference(steps_before=steps_before, steps_after=steps_after, notes=[note])
    movers: list[Mover] = []
    for kind in _KINDS:
        old, new = _ledger(before, kind), _ledger(after, kind)
        if old is not None and new is not None:
            movers += _movers(kind, old, new, steps_before, steps_after)
    movers.sort(key=lambda mover: -abs(mover.change_us_per_step))
    notes = []
    if (before.gpu is None) != (after.gpu is None):
        notes = ["one of the windows has no device events: only the host's times are compared"]
    return TraceDifference(steps_before=steps_before, steps_after=steps_after, movers=movers, notes=notes)


_KINDS: tuple[MoverKind, ...] = ("step", "idle", "kernel", "operator", "communication", "copy")


def _movers(
    kind: MoverKind, old: dict[str, float], new: dict[str, float], steps_before: int, steps_after: int
) -> Iterator[Mover]:
    for name in {**old, **new}:
        before, after = old.get(name, 0.0) / steps_before, new.get(name, 0.0) / steps_after
        if before or after:
            yield Mover(name=name, kind=kind, before_us_per_step=before, after_us_per_step=after)


def _ledger(rank: RankReport, kind: MoverKind) -> dict[str, float] | None:
    """Return name → µs in the window; None: this window does not tell."""
    if kind == "step":
        return {"whole step": sum(step.duration_us for step in rank.steps)}
    if kind == "operator":
        return _summed((row.name, row.self_us) for row in rank.operators)
    if rank.gpu is None:
        return None
    if kind == "idle":
        return _idle(rank.idle, rank.window_ms * 1000)
    if kind == "kernel":
        device = (row for row in rank.kernels if row.kind not in ("copy", "communication"))
        return _summed((row.name, row.total_us) for row in device)
    if kind == "copy":
        return _summed((row.kind, row.total_us) for row in rank.memcpy)
    return _summed((row.name, row.total_us) for row in rank.collectives)


def _idle(idle: IdleShares | None, window_us: float) -> dict[str, float] | None:
    if idle is None:
        return None
    shares: dict[str, float] = msgspec.structs.asdict(idle)
    return {name: share * window_us for name, share in shares.items()}


def _summed(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for name, value in rows:
        sums[name] = sums.get(name, 0.0) + value
    return sums
