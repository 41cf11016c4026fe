"""`input.too_many_workers` where the loader keeps up: many workers cost at the heads of epochs, or the model.

Workers that a starved rank has too many of are found with its waiting (`starvation`).
"""

from collections.abc import Iterator

from perftui.ipc.figures import counted
from perftui.ipc.findings import Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.epoch_waits import at_heads
from perftui.trainer.diagnosis.rules.starvation import find_starved
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_remedy import fewer_workers, too_many


def crowd(case: Case) -> Iterator[Finding | Abstention]:
    """Judge ranks that are fed and have many more workers than there are cores."""
    starved = {rank.rank for group in find_starved(case) for rank in group.ranks}
    for rank in case.ready.judged:
        host, facts, seen = case.host(rank), rank.loader, rank.workers
        if rank.rank in starved or host is None or host.cpus is None or facts is None or seen is None:
            continue
        if not too_many(case, rank, facts, host.cpus):
            continue
        heads, lost = at_heads(rank) or 0.0, _without_core(case, rank)
        cost = max(heads, lost)
        if cost < case.policy.wait_warning:
            continue
        what = (
            f"start anew at each epoch, which takes {percent(heads)} of the time"
            if heads >= lost
            else f"take the cores from the training thread, which has none for {percent(lost)} of the time"
        )
        yield Finding(
            code="input.too_many_workers",
            severity="critical" if cost >= case.policy.wait_critical else "warning",
            share=min(1.0, cost),
            rank=None if len(case.signals.ranks) == 1 else rank.rank,
            host=rank.host,
            sentence=f"{counted(facts.num_workers, 'worker')} for {counted(host.cpus, 'usable core')} "
            f"{what}.",
            evidence=[
                number("loader workers", facts.num_workers, "", rank.window_steps),
                number("usable cores", host.cpus, "cores"),
                number("worker ready but without a core", seen.cpu_wait_share or 0.0, "share"),
                step(rank),
            ],
            coverage=rank.coverage,
            remedy=fewer_workers(facts, host.cpus, case.ranks_on(rank.host)),
        )
        return


def _without_core(case: Case, rank: RankSignals) -> float:
    """Return the share of the time in which the training thread was held up; 0 where others may do that."""
    if rank.device != "cpu" or rank.cpu_share is None or case.strongly_contended(rank.host):
        return 0.0
    comm = rank.shares.comm_exposed or 0.0
    return max(0.0, 1.0 - rank.cpu_share - (rank.shares.loader_wait or 0.0) - comm)
