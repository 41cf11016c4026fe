"""`rank.straggler_compute`, `rank.straggler_host`, `rank.imbalance`: who comes last, and for want of what.

By arrival, never by length: ranks that exchange gradients keep step, and waiting hides in the backward of
whoever comes early. A rank that waits least for the exchange has come last. Where the exchange was not timed,
what each did before its backward tells, if the others' backward is longer by as much.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import main_place, number, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.exchange import exposed_share
from perftui.trainer.diagnosis.rules.straggler_input import comparable
from perftui.trainer.diagnosis.rules.uneven import imbalance
from perftui.trainer.diagnosis.signals import RankSignals


@dataclass(frozen=True)
class Late:
    """A rank that comes last."""

    rank: RankSignals
    gap: float
    """Share of the step that the others wait for it, beyond the exchange itself."""
    by: Literal["compute", "host"]
    longer_ms: float
    """By how much that part of its step is longer than the others'."""
    timed: bool
    """The exchange was timed on every rank."""


def stragglers(case: Case) -> Iterator[Finding | Abstention]:
    """Judge ranks that keep step and are all fed."""
    late = find_late(case)
    if late is not None:
        yield _straggler(case, late)
    elif comparable(case):
        uneven = imbalance(case)
        if uneven is not None:
            yield uneven


def find_late(case: Case) -> Late | None:
    """Return the rank that comes last for want of anything but data; None where there is none."""
    return _late(case, case.ranks) if comparable(case) else None


def _late(case: Case, ranks: tuple[RankSignals, ...]) -> Late | None:
    timed = {rank.rank: exposed_share(rank) for rank in ranks}
    looked = all(
        rank.patterns.comm_steps >= case.policy.comm_steps or rank.device_ms is not None for rank in ranks
    )
    found = None
    if looked and all(value is not None for value in timed.values()):
        found = _by_exchange(case, ranks, {rank: value or 0.0 for rank, value in timed.items()})
    return found or _by_work_before(case, ranks)


def _by_exchange(case: Case, ranks: tuple[RankSignals, ...], waits: dict[int, float]) -> Late | None:
    """The one that waits least in the exchange; the others wait longer by its lateness."""
    policy = case.policy
    last = min(ranks, key=lambda rank: (waits[rank.rank], rank.rank))
    others = [rank for rank in ranks if rank is not last]
    gap = median(waits[rank.rank] for rank in others) - waits[last.rank]
    looks = min(_looks(rank) for rank in ranks)
    if gap < policy.straggler_gap:
        return None
    if gap < policy.straggler_sure and looks < policy.straggler_looks:
        return None
    if min(waits[rank.rank] for rank in others) < policy.straggler_ratio * max(waits[last.rank], 0.01):
        return None
    if last.device == "cpu" and not _persists(case, last, gap):
        return None
    # Only one alone is a straggler: the others must all wait for it.
    return _blamed(last, others, gap, timed=True)


def _persists(case: Case, last: RankSignals, gap: float) -> bool:
    """Tell whether a rank on CPUs comes last step by step, and by more than the waits scatter."""
    policy, arrivals = case.policy, case.signals.arrivals
    if gap >= policy.straggler_sure:
        return True
    if arrivals is None:
        return False
    dealt = arrivals.uneven is not None and arrivals.uneven >= policy.uneven_batches
    if gap < policy.straggler_gap_cpu and not dealt:
        return False
    mine = next((each for each in arrivals.ranks if each.rank == last.rank), None)
    if mine is None:
        return False
    if arrivals.looked >= policy.straggler_looks and (mine.least_share or 0.0) < policy.last_fixed:
        return False
    errors = [each.wait_error_ms for each in arrivals.ranks]
    known = [error for error in errors if error is not None]
    scatter = sum(error**2 for error in known) ** 0.5
    return len(known) == len(errors) and gap * last.step_ms.mean >= policy.straggler_errors * scatter


def _looks(rank: RankSignals) -> int:
    return rank.patterns.comm_steps if rank.device_ms is None else rank.device_ms.sampled_steps


def _by_work_before(case: Case, ranks: tuple[RankSignals, ...]) -> Late | None:
    """The one with more to do before the exchange, if the others' backward is longer by as much."""
    arrivals = case.signals.arrivals
    if arrivals is None or arrivals.steps < case.policy.arrival_steps:
        return None
    lates = {arrival.rank: arrival for arrival in arrivals.ranks}
    if {rank.rank for rank in ranks} != set(lates):
        return None
    last = max(ranks, key=lambda rank: (lates[rank.rank].late_ms, -rank.rank))
    others = [rank for rank in ranks if rank is not last]
    late_ms = lates[last.rank].late_ms - median(lates[rank.rank].late_ms for rank in others)
    gap = late_ms / last.step_ms.mean if last.step_ms.mean else 0.0
    if gap < case.policy.straggler_gap or lates[last.rank].last_share < case.policy.last_fixed:
        return None
    backwards = [rank.shares.backward for rank in others]
    own = last.shares.backward
    if own is None or any(value is None for value in backwards):
        return None
    absorbed = median(value or 0.0 for value in backwards) - own
    if absorbed < case.policy.straggler_absorbed * gap:
        return None
    return _blamed(last, others, gap, timed=False)


def _blamed(last: RankSignals, others: list[RankSignals], gap: float, *, timed: bool) -> Late:
    def longer(part: str) -> float:
        mine = getattr(last.shares, part) or 0.0
        theirs = median(getattr(rank.shares, part) or 0.0 for rank in others)
        return (mine - theirs) * last.step_ms.mean

    host = longer("other")
    compute = longer("forward") + longer("optimizer") + (longer("backward") if timed else 0.0)
    if host >= compute:
        return Late(last, gap, "host", host, timed)
    return Late(last, gap, "compute", compute, timed)


def _straggler(case: Case, late: Late) -> Finding:
    rank, policy = late.rank, case.policy
    least = policy.straggler_sure if rank.device == "cpu" else policy.wait_critical
    critical = late.gap >= least and rank.window_steps >= policy.steps_critical
    compute = late.by == "compute"
    what = (
        "its forward and backward take longer"
        if compute
        else "it does something besides (logging, saving, metrics), neither loading nor the model"
    )
    arrival = _arrival(case, rank)
    own = ("script", "logging", "checkpoint")
    place = None if compute else main_place(rank.facts.stacks, policy.place_share, *own)
    if place is not None:
        what = f"{what}, mostly at {place.at}"
    return Finding(
        code=f"rank.straggler_{late.by}",
        severity="critical" if critical else "warning",
        share=min(1.0, late.gap),
        rank=rank.rank,
        host=rank.host,
        sentence=f"Rank {rank.rank} comes last to the exchange of gradients, and the others wait for it "
        f"{percent(late.gap)} of each step: {what}.",
        evidence=[
            number("the others wait longer by", late.gap, "share", rank.window_steps),
            number(f"longer on rank {rank.rank}", late.longer_ms, "ms", rank.window_steps),
            *arrival,
            step(rank),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(late.gap, 0.99)), 2),
            advice=_advice(rank, compute=compute),
            at=None if place is None else place.at,
        ),
        unsure=None if late.timed else "a profile window on two ranks shows where each waits",
    )


def _arrival(case: Case, rank: RankSignals) -> list[Evidence]:
    arrivals = case.signals.arrivals
    if arrivals is None:
        return []
    mine = next((each for each in arrivals.ranks if each.rank == rank.rank), None)
    return (
        []
        if mine is None
        else [number("steps at which it was last", mine.last_share, "share", arrivals.steps)]
    )


def _advice(rank: RankSignals, *, compute: bool) -> str:
    if not compute:
        return (
            "log, evaluate and save on no rank alone while the others wait: less often, or in the background"
        )
    if rank.device == "cpu":
        return f"see what else runs on {rank.host}, and whether this rank has as many cores and as much data"
    return (
        "compare this GPU's clocks, temperature and processes with the others'; leave it out if it stays slow"
    )
