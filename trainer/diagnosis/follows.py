"""What must hold, beside a cause and what may follow from it, for the one to follow from the other.

A host has more than one trouble at a time: one that costs little must not stand for a wait that is long, nor
take the remedy from it.
"""

from perftui.ipc.findings import Finding
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.rules.cpu_cores import workers_lack_cores
from perftui.trainer.diagnosis.rules.proportions import long_by_design
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.wait_cause import cause_of


def workers_begin_anew(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether workers are started at each epoch, so that their number may be what its head costs."""
    loaders = [rank.loader for rank in _about(case, cause, finding) if rank.loader is not None]
    return any(facts.num_workers and not facts.persistent_workers for facts in loaders)


def threads_hold_workers_up(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether workers lack cores that threads may have; a thread that loads by itself has its own."""
    return any(workers_lack_cores(case, rank) for rank in _about(case, cause, finding))


def quota_costs_as_much(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether everything stood still often enough: in so many periods, and in a part of each."""
    throttled = [host.throttled_share or 0.0 for host in case.signals.hosts if host.name == cause.host]
    return max(throttled, default=0.0) >= case.policy.throttled_explains * finding.share


def memory_delays_loading(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether the host reads back what it swapped out, and the loading does not compute all the time.

    A GPU that is nearly full delays no loader, nor does a host that is merely full.
    """
    swapping = any(
        (host.swap_in_mib_s or 0.0) >= case.policy.swapping_mib_s
        for host in case.signals.hosts
        if host.name == cause.host
    )
    about = _about(case, cause, finding)
    return swapping and not any(cause_of(case, rank).cause == "compute" for rank in about)


def memory_takes_time(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether memory that is nearly gone costs time already: a GPU's only where its cache is emptied."""
    changes = [rank.change for rank in _about(case, cause, finding)]
    return cause.host is not None or any(change and change.alloc_retries for change in changes)


def waits_for_a_save(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether most looks in the script's own lines found them waiting for a thread that saves."""
    seen = [rank.facts.stacks for rank in _about(case, cause, finding) if rank.facts.stacks is not None]
    saving, script = sum(each.saving for each in seen), sum(each.areas.get("script", 0) for each in seen)
    return saving > 0 and saving >= case.policy.saving_explains * script


def design_makes_it_long(case: Case, cause: Finding, finding: Finding) -> bool:
    """Tell whether a forward is long because a model in it is there to leave no gradient."""
    return all(long_by_design(case, rank) for rank in _about(case, cause, finding))


def _about(case: Case, cause: Finding, finding: Finding) -> list[RankSignals]:
    """Return the ranks of which both speak."""
    return [
        rank
        for rank in case.signals.ranks
        if {cause.rank, finding.rank} <= {None, rank.rank} and {cause.host, finding.host} <= {None, rank.host}
    ]
