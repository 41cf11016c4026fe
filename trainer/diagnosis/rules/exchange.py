"""What the exchange of gradients costs, apart from waiting for ranks that come late."""

from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.rules.own_collectives import own_share
from perftui.trainer.diagnosis.signals import RankSignals


def exposed_share(rank: RankSignals) -> float | None:
    """Return the share of a rank's step that is exposed communication; None: not measured often enough."""
    times = rank.device_ms
    if times is not None and times.comm_exposed_ms is not None and times.step_ms > 0:
        return min(1.0, times.comm_exposed_ms / times.step_ms)
    return rank.shares.comm_exposed


def exchange_share(case: Case) -> tuple[float, RankSignals] | None:
    """Return what the exchange itself costs, and on which rank: the one that waits least.

    Ranks that take turns in coming last wait for one another as well: so the shortest wait of each single
    step is taken, where the same steps were looked at on all ranks.
    """
    return case.once(_exchange_share)


def _exchange_share(case: Case) -> tuple[float, RankSignals] | None:
    least = case.policy.comm_steps
    measured = [
        (cost, rank)
        for rank in case.ranks
        if (cost := exposed_share(rank)) is not None
        and (rank.patterns.comm_steps >= least or (rank.device_ms and rank.device_ms.sampled_steps >= least))
    ]
    if not measured:
        measured = _own(case)
    if not measured or len(measured) < len(case.ranks):
        return None
    cost, rank = min(measured, key=lambda pair: (pair[0], pair[1].rank))
    arrivals = case.signals.arrivals
    if arrivals is None or rank.device_ms is not None or not rank.step_ms.mean:
        return cost, rank
    if arrivals.exchange_ms is not None and arrivals.looked >= case.policy.straggler_looks:
        return min(cost, arrivals.exchange_ms / rank.step_ms.mean), rank
    return cost, rank


def _own(case: Case) -> list[tuple[float, RankSignals]]:
    shares = ((own_share(rank, case.policy), rank) for rank in case.ranks)
    return [(share, rank) for share, rank in shares if share is not None]


def least_cost(case: Case, rank: RankSignals) -> tuple[float, float]:
    """Return from which exposed share of a step communication is worth a word, and from which a warning."""
    policy = case.policy
    if rank.device == "cpu":
        return policy.comm_info_cpu, policy.comm_warning_cpu
    return policy.comm_info, policy.comm_warning
