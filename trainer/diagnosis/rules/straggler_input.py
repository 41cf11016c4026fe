"""`rank.straggler_input`: one rank waits for its loader, and the others wait for that rank.

Ranks that exchange gradients keep step: every wall time is the same, and so is the sum of a rank's own work
and its waiting. What differs is where it waits. The starved rank waits for data; the others wait inside the
all-reduce, which hides in their backward (or in the forward, where buffers are broadcast). The longest
backward is therefore a victim's, never the culprit's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from perftui.ipc.findings import Evidence, Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention, steady_wait, wait_ms
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_cause import cause_of
from perftui.trainer.diagnosis.wait_remedy import Answer, answer_to

CODE = "rank.straggler_input"
_UNSEEN = "where the other ranks spend that time was not seen: a profile window on two ranks shows it"


@dataclass(frozen=True)
class Straggler:
    """A starved rank among ranks that keep step."""

    worst: RankSignals
    others: tuple[int, ...]
    """Further starved ranks, fewer than half in all."""
    fed: tuple[RankSignals, ...]
    gap: float
    """Share of the step by which it waits longer than the fed ranks."""


def comparable(case: Case) -> bool:
    """Tell whether all ranks keep step and are fed, so that who comes last can be told."""
    ranks = case.ranks
    if len(ranks) < 2 or len(ranks) < case.signals.world_size or not in_step(ranks, case.policy):
        return False
    return find_straggler(case.ready.judged, case.policy) is None


def in_step(ranks: tuple[RankSignals, ...], policy: Policy) -> bool:
    """Say whether the ranks' steps take equally long: they wait for one another."""
    walls = [rank.step_ms.mean for rank in ranks]
    return len(walls) > 1 and max(walls) - min(walls) <= policy.in_step_spread * max(walls)


def find_straggler(ranks: tuple[RankSignals, ...], policy: Policy) -> Straggler | None:
    """Return the rank that starves while at least half of the ranks do not; None when there is none."""
    if not in_step(ranks, policy):
        return None
    by_wait = sorted(ranks, key=lambda rank: (wait_ms(rank), rank.rank))
    usual = median(steady_wait(rank) for rank in by_wait[: len(by_wait) // 2])
    starved = [
        rank
        for rank in by_wait
        if steady_wait(rank) - usual >= policy.straggler_gap
        and steady_wait(rank) >= policy.straggler_ratio * usual
    ]
    if not starved or len(starved) > len(ranks) / 2:
        return None
    longest = steady_wait(starved[-1])
    # Of ranks that starve alike the first is named, so that the name does not change with every window.
    worst = min(
        (rank for rank in starved if steady_wait(rank) >= (1 - policy.straggler_alike) * longest),
        key=lambda rank: rank.rank,
    )
    if wait_ms(worst) < policy.wait_floor_ms:
        return None
    fed = tuple(rank for rank in by_wait if rank not in starved)
    others = tuple(sorted(rank.rank for rank in starved if rank is not worst))
    return Straggler(worst, others, fed, steady_wait(worst) - usual)


def straggler_input(case: Case) -> Iterator[Finding | Abstention]:
    """Judge whether one rank's loader holds up the others."""
    found = find_straggler(case.ready.judged, case.policy)
    if found is not None:
        _, answer = answer_to(case, found.worst, cause_of(case, found.worst))
        yield _finding(found, answer, case.policy)


def _finding(found: Straggler, answer: Answer, policy: Policy) -> Finding:
    worst = found.worst
    absorbed = _absorbed(found)
    seen = (
        absorbed is not None and absorbed.value >= policy.straggler_absorbed * found.gap * worst.step_ms.mean
    )
    steps = min(rank.window_steps for rank in (worst, *found.fed))
    critical = found.gap >= policy.wait_critical and steps >= policy.steps_critical
    return Finding(
        code=CODE,
        severity="critical" if critical else "warning",
        share=found.gap,
        rank=worst.rank,
        host=worst.host,
        sentence=_sentence(found),
        evidence=_evidence(found, absorbed if seen else None),
        coverage=worst.coverage,
        remedy=answer.remedy,
        unsure=answer.unsure or (None if seen else _UNSEEN),
    )


def _sentence(found: Straggler) -> str:
    wait = f"{100 * steady_wait(found.worst):.0f} %"
    least = f"{100 * min(steady_wait(rank) for rank in found.fed):.0f} %"
    also = f" (ranks {', '.join(map(str, found.others))} starve too)" if found.others else ""
    return (
        f"Rank {found.worst.rank} waits {wait} of each step for its loader{also}; the others are fed "
        f"({least}) and wait for rank {found.worst.rank}, which sets everyone's pace."
    )


def _absorbed(found: Straggler) -> Evidence | None:
    """Return how much longer the best fed rank spends where the exchange of gradients happens, in ms."""
    victim = min(found.fed, key=wait_ms)
    steps = victim.window_steps
    exposed = victim.shares.comm_exposed
    if exposed is not None:
        value = exposed * victim.step_ms.mean
        return Evidence(
            name=f"rank {victim.rank} waits in communication", value=value, unit="ms", window_steps=steps
        )
    its, own = _exchange_ms(victim), _exchange_ms(found.worst)
    if its is None or own is None:
        return None
    value = its - own
    name = f"forward and backward of rank {victim.rank} beyond those of rank {found.worst.rank}"
    return Evidence(name=name, value=value, unit="ms", window_steps=steps)


def _exchange_ms(rank: RankSignals) -> float | None:
    forward, backward = rank.shares.forward, rank.shares.backward
    return None if forward is None or backward is None else (forward + backward) * rank.step_ms.mean


def _evidence(found: Straggler, absorbed: Evidence | None) -> list[Evidence]:
    shown = [
        Evidence(
            name=f"loader wait of rank {rank.rank}",
            value=steady_wait(rank),
            unit="share",
            window_steps=rank.window_steps,
        )
        for rank in (found.worst, min(found.fed, key=wait_ms))
    ]
    shown.append(
        Evidence(
            name="step",
            value=found.worst.step_ms.mean,
            unit="ms",
            window_steps=found.worst.window_steps,
        )
    )
    return shown if absorbed is None else [*shown, absorbed]
