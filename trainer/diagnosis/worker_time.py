"""What the time of a loader's workers goes to: making batches, as they time it, or waiting in turns."""

from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import of_the_script
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import wait_ms
from perftui.trainer.diagnosis.signals import RankSignals

_LOCKS = "multiprocessing/synchronize.py"
_LOADING = ("loader", "dataset", "collate")


def making_ms(rank: RankSignals, policy: Policy) -> float | None:
    """Return the wall time, in ms, in which a batch is made where batches are made; None: not timed.

    Of the last minute where that is known: what batches took before says nothing of the waits of today.
    """
    lately = None if rank.change is None else rank.change.loading
    timed = lately if lately is not None and lately.batches >= policy.made_least else rank.facts.loading
    if timed is None or rank.loader is None or timed.loader != rank.loader.index:
        return None
    return 1e3 * _spent_s(timed) / timed.batches if timed.batches >= policy.made_least else None


def _spent_s(timed: LoadingFacts) -> float:
    return timed.fetch_s + timed.collate_s


def making_share(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of their time in which the workers are at a batch; None: not timed, or no workers.

    What they have to wait for, and waits for a core, are part of it. Heads of epochs are left out, where
    workers that start have no batch yet.
    """
    batch_ms, facts = making_ms(rank, policy), rank.loader
    steady_ms = rank.step_ms.mean * (1 - (rank.epoch_start_wait or 0.0))
    if batch_ms is None or facts is None or not facts.num_workers or steady_ms <= 0:
        return None
    return batch_ms * rank.patterns.micro_batches / steady_ms / facts.num_workers


def made_in_time(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether the workers are known to have no batch to make for most of the time."""
    share = making_share(rank, policy)
    return share is not None and share < policy.making_share


def made_sooner(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether the batches of a step take far less time to make than the training waits for them.

    No wait for a batch that is being made is longer than making it, so something else takes that time; and
    the training thread would have made them meanwhile. Not where that thread is found in the script's own
    code as it loads: with workers that is its sampler, whatever the workers do.
    """
    batch_ms = making_ms(rank, policy)
    if batch_ms is None or batch_ms * rank.patterns.micro_batches > policy.made_sooner * wait_ms(rank):
        return False
    return not _samples_itself(rank, policy)


def _samples_itself(rank: RankSignals, policy: Policy) -> bool:
    stacks = rank.facts.stacks
    if stacks is None:
        return False
    looks = sum(stacks.areas.get(area, 0) for area in _LOADING)
    own = sum(p.count for p in stacks.places if p.area in _LOADING and of_the_script(p.at))
    return own > 0 and own >= policy.place_share * looks


def takes_turns(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether most of the workers wait for one of them to let go of a lock, most of the time.

    By where the kernel has them asleep, or in a window by their stacks. All but one of them can do so.
    """
    seen = rank.workers
    if seen is None or seen.count < 2:
        return False
    share = _in_a_lock(rank, policy)
    return share is not None and share >= policy.in_turns


def turns_known(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether it could be seen whether workers wait for a lock."""
    return _in_a_lock(rank, policy) is not None


def _in_a_lock(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of looks at the workers that find them waiting for a lock; None: too few looks.

    The queue from which a worker takes what to do has a lock as well, which nobody else ever holds.
    """
    asleep = None if rank.workers is None else rank.workers.lock_share
    samples = sum(seen.samples for seen in rank.worker_stacks)
    if samples < policy.worker_looks:
        return asleep
    within = sum(
        seen.samples * max((f.self_share for f in seen.frames if f.file.endswith(_LOCKS)), default=0.0)
        for seen in rank.worker_stacks
    )
    return max(asleep or 0.0, within / samples)


def crowded_waits(case: Case, rank: RankSignals) -> bool:
    """Tell whether so many workers wait at once already that more of them may well bring nothing."""
    host, facts, policy = case.host(rank), rank.loader, case.policy
    if host is None or not host.cpus or facts is None:
        return False
    number = facts.num_workers * case.ranks_on(rank.host)
    return number >= policy.many_waiting and number >= policy.many_workers * host.cpus
