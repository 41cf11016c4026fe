"""`rank.imbalance`: ranks that take turns in coming last: what they have to do differs."""

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.straggler_input import comparable
from perftui.trainer.diagnosis.signals import Arrivals


def uneven_ms(case: Case) -> float | None:
    """Return what waiting for the last costs a step where uneven batches are proven to be why; else None."""
    proven = _uneven(case) if comparable(case) else None
    return proven[0] if proven is not None and proven[1] else None


def _uneven(case: Case) -> tuple[float, bool, float] | None:
    """Return what is lost a step by waiting for the last, whether that is proven, and who is last how often.

    That is ms, proven to come from uneven batches, and the share of steps with the same rank last, at most.
    None: too little was seen.
    """
    arrivals, policy = case.signals.arrivals, case.policy
    if arrivals is None or arrivals.steps < policy.arrival_steps:
        return None
    lost_ms, most = arrivals.lost_ms, max(each.last_share for each in arrivals.ranks)
    if case.ranks[0].device != "cpu":
        return lost_ms, False, most  # the host's times tell little of when a GPU arrives
    proven, cpu_ms = _own_work_differs(arrivals, lost_ms, policy), arrivals.lost_cpu_ms
    if proven and cpu_ms is not None and cpu_ms > lost_ms:  # it holds the backward's own work as well
        lost_ms, most = cpu_ms, arrivals.most_cpu_share or most
    return lost_ms, proven, most


def _own_work_differs(arrivals: Arrivals, lost_ms: float, policy: Policy) -> bool:
    """Tell whether ranks on CPUs are uneven by what they compute.

    Other work holds up one rank or another by chance and leaves the CPU time of a step as it is. A shared
    core stretches even that, but for as long as it lasts: batches are drawn anew for every step.
    """
    cpu_ms = arrivals.lost_cpu_ms
    if cpu_ms is None or cpu_ms < policy.imbalance_cpu * lost_ms:
        return False
    if arrivals.uneven is not None and arrivals.uneven >= policy.uneven_batches:
        return True
    return arrivals.cpu_memory is not None and abs(arrivals.cpu_memory) < policy.imbalance_memory


def imbalance(case: Case) -> Finding | Abstention | None:
    """Ranks that take turns in being last: uneven batches."""
    arrivals, policy = case.signals.arrivals, case.policy
    seen = _uneven(case)
    if arrivals is None or seen is None:
        return None
    lead = case.ranks[0]
    lost_ms, own, most = seen
    lost = lost_ms / lead.step_ms.mean if lead.step_ms.mean else 0.0
    if lost < policy.straggler_gap or most > policy.last_rotating or lost_ms < policy.wait_floor_ms:
        return None
    if not own and case.contended:
        reason = "the ranks take turns in coming last, and other work on the host may be why"
        return Abstention("rank.imbalance", reason, "a quiet host")
    if not own and lost < policy.imbalance_unsure:
        return None
    sizes = (
        [] if arrivals.uneven is None else [number("largest batch beyond the mean", arrivals.uneven, "share")]
    )
    return Finding(
        code="rank.imbalance",
        severity="critical" if lost >= 2 * policy.wait_critical else "warning",
        share=min(1.0, lost),
        sentence=f"The ranks take turns in coming last, and wait for one another {percent(lost)} of each "
        "step: "
        "what they have to do differs from step to step.",
        evidence=[
            number("waiting for the last", lost_ms, "ms", arrivals.steps),
            number("steps at which the same rank was last, at most", most, "share", arrivals.steps),
            *sizes,
            step(lead),
        ],
        remedy=Remedy(
            bound=round(1 / (1 - min(lost, 0.99)), 2),
            advice="batches of equal cost: group samples by length, count tokens instead of samples, or give "
            "each rank its share of the long ones",
            semantics="changes-training",
            caution="another grouping draws other batches",
        ),
        unsure=None if own else "tokens a batch on each rank would tell whether lengths are the cause",
    )
