"""Why a rank waits for its loader: told from what its workers, or without workers its own thread, were doing.

Workers that compute all the time are too few, or each sample is dear. Workers that do nothing while the rank
waits are waiting themselves: for storage, or for something else that takes its time.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.ipc.facts import StackFacts
from perftui.trainer.diagnosis.batch_costs import (
    collating_in_workers,
    collating_timed,
    copies_tensors,
    costs_more_than_it_brings,
    fetch_samples,
    in_pieces,
    putting_together,
    stacking,
    taking_over,
)
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import area_share
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import steady_wait, wait_ms
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals
from perftui.trainer.diagnosis.worker_time import (
    made_in_time,
    made_sooner,
    making_ms,
    making_share,
    takes_turns,
)
from perftui.trainer.diagnosis.worker_words import of_their_time, of_workers

Cause: TypeAlias = Literal[
    "compute",
    "storage",
    "connection",
    "latency",
    "collate",
    "handover",
    "slow_worker",
    "turns",
    "turns_computing",
    "needless",
    "uneven",
    "untold",
    "unknown",
]
"""collate: samples are put together. connection: samples come from the other end of a socket. handover: the
training thread takes a batch over from its worker. compute: preparing samples keeps a CPU busy. latency:
samples wait for something that is not storage. needless: there is hardly anything to prepare, and handing
batches over is the cost. turns: workers wait for one another at a lock, and the one who has it waits as well;
turns_computing: it computes. uneven: workers have little to do, and batches are waited for all the same.
untold: workers idle, and so may the training thread, for others' sake."""


_STACKING = " collate_tensor_fn"
_CONNECTIONS = ("/socket.py", "/ssl.py", "/http/client.py", "/urllib3/response.py", "/urllib3/connection.py")
"""Ends of files in which clients of object stores and of databases in Python wait for an answer."""


@dataclass(frozen=True)
class WaitCause:
    """What was found out about the waiting of one rank."""

    cause: Cause
    why: str
    """A clause for the sentence; empty where nothing is known."""
    slow_worker: int | None = None
    stacked: bool = False
    """The samples are tensors already, and copying them into a batch is what takes the time."""


def cause_of(case: Case, rank: RankSignals) -> WaitCause:
    """Return why a starved rank waits."""
    facts = rank.loader
    if facts is None:
        return WaitCause("unknown", "")
    slow = slow_worker(case, rank)
    if slow is not None:
        return WaitCause("slow_worker", "", slow)
    host = case.host(rank)
    if facts.num_workers == 0:
        return _in_the_training_thread(case, rank, host)
    return _in_workers(case, rank, host)


def _in_the_training_thread(case: Case, rank: RankSignals, host: HostSignals | None) -> WaitCause:
    policy = case.policy
    putting = _collated_here(case, rank, host)
    if putting is not None:
        return putting
    busy = _busy_while_waiting(case, rank)
    # On a busy host a thread that wants to compute may not be let: it looks idle and is not.
    if busy is None or busy > policy.worker_idle or case.strongly_contended(rank.host):
        return WaitCause("storage" if _storage_plain(case, host, busy) else "compute", "")
    if storage_seen(case, rank, host):
        return WaitCause("storage", "the thread waits for storage")
    return WaitCause("latency", "the thread does not compute meanwhile, each sample waits for something")


def _collated_here(case: Case, rank: RankSignals, host: HostSignals | None) -> WaitCause | None:
    """Return putting samples together in the training thread as the cause; None: it is not.

    Where each batch is timed, looks and operators must not tell otherwise. Samples that are views of a file
    are read from storage only when they are copied into the batch: that is no collating.
    """
    policy, stacks, timed = case.policy, rank.facts.stacks, collating_timed(rank)
    if timed is not None and timed < policy.collating_timed:
        return None
    collating = _collating(stacks, policy)
    loading = area_share(stacks, policy.stack_looks, "collate", "dataset", "loader")
    if collating is not None and loading and collating >= policy.collating * loading:
        share = collating / loading if timed is None else timed
        return WaitCause("collate", f"{100 * share:.0f} % of it is {putting_together(rank)}")
    stacked = stacking(rank)
    if stacked is not None and stacked >= policy.collating * (rank.shares.loader_wait or 1.0):
        why = f"at least {100 * stacked:.0f} % of each step is copying samples into a batch"
        return WaitCause("collate", why, stacked=True)
    if timed is None or storage_seen(case, rank, host):
        return None
    found = area_share(stacks, policy.stack_looks, "collate")
    copied = found is not None and collating is not None and collating < found / 2
    return WaitCause("collate", f"{100 * timed:.0f} % of it is {putting_together(rank)}", stacked=copied)


def _collating(stacks: StackFacts | None, policy: Policy) -> float | None:
    """Return the share of looks that found samples being put together; None: too few looks.

    Stacking tensors is left out: there the thread lets go of the interpreter, so looks that come while the
    dataset's Python runs find it as well, and it is quick.
    """
    found = area_share(stacks, policy.stack_looks, "collate")
    if found is None or stacks is None:
        return None
    stacking = sum(p.count for p in stacks.places if p.area == "collate" and p.at.endswith(_STACKING))
    return max(0.0, found - stacking / stacks.looks)


def _storage_plain(case: Case, host: HostSignals | None, busy: float | None) -> bool:
    """Tell whether storage delivers so much that it explains an idle thread, whoever else is on the host."""
    read = None if host is None else host.run_storage_read_mib_s
    return busy is not None and busy <= case.policy.worker_idle and (read or 0.0) >= case.policy.storage_mib_s


def _busy_while_waiting(case: Case, rank: RankSignals) -> float | None:
    """Return the CPU share of the training thread while it loads, at most; None: not measured.

    Only the CPU time of the whole step is known: what surely belongs to other parts is taken off.
    """
    wait = rank.shares.loader_wait
    if rank.cpu_share is None or not wait:
        return None
    return max(0.0, rank.cpu_share - _surely_busy(case, rank, wait)) / wait


def _surely_busy(case: Case, rank: RankSignals, wait: float) -> float:
    """Return the share of a step in which the training thread surely computes outside of its loading.

    A CPU alone computes throughout the model's part. Before a GPU the thread sleeps while the backward's own
    thread works, and in each wait for the device; among ranks it sleeps in exchanges; with more threads than
    cores, at the end of each operator.
    """
    host, backends = case.host(rank), rank.facts.backends
    threads = None if backends is None else backends.num_threads
    crowded = host is not None and host.cpus is not None and threads is not None and threads > host.cpus
    if rank.device != "cpu" or max(case.signals.world_size, len(case.signals.ranks)) > 1 or crowded:
        return 0.0
    return max(0.0, 1 - wait - (rank.shares.other or 0.0))


def _in_workers(case: Case, rank: RankSignals, host: HostSignals | None) -> WaitCause:
    policy, seen = case.policy, rank.workers
    if seen is None or seen.cpu_share is None or not seen.count:
        cause = _by_the_host(case, host)
        return (_collated_in_workers(case, rank, host) or cause) if cause.cause == "unknown" else cause
    if takes_turns(rank, policy):
        return _in_turns(seen.count * seen.cpu_share, policy)
    held_up, busy = seen.cpu_wait_share or 0.0, _between_heads(rank, seen.cpu_share)
    idle = held_up < policy.worker_cpu_wait and busy + held_up < policy.worker_busy
    if idle and not storage_seen(case, rank, host):
        taking = taking_over(case, rank)
        if taking is not None:
            return _taken_over(case, rank, taking)
    in_time = _made_in_time(case, rank, idle=idle)
    if in_time is not None and not storage_seen(case, rank, host):
        return in_time
    computing = busy > policy.worker_idle or held_up >= policy.worker_cpu_wait
    putting = _collated_in_workers(case, rank, host, computing=computing)
    if putting is not None:
        return putting
    if busy + held_up >= policy.worker_busy:
        timed = collating_timed(rank)
        fetching = "" if timed is None else f", {100 * (1 - timed):.0f} % of it to {fetch_samples(rank)}"
        doing = of_workers(rank, "compute", "computes")
        if held_up >= policy.worker_cpu_wait:
            doing = of_workers(rank, "are busy or waiting for a core", "is busy or waiting for a core")
        return WaitCause("compute", f"{doing} all the time{fetching}")
    if storage_seen(case, rank, host):
        return WaitCause("storage", of_workers(rank, "wait for storage", "waits for storage"))
    if _connected(rank, policy):
        waiting = of_workers(rank, "wait", "waits")
        return WaitCause("connection", f"{waiting} for the other end of a network connection")
    if computing:
        return WaitCause("unknown", "")
    if wait_ms(rank) < policy.needless_item_ms:
        return WaitCause("needless", f"{of_workers(rank, 'have', 'has')} hardly anything to do")
    if case.strongly_contended(rank.host):
        doing = of_workers(rank, "hardly compute", "hardly computes")
        why = f"{doing} meanwhile, and other work keeps the cores busy: who waits for whom is open"
        return WaitCause("untold", why)
    doing = of_workers(rank, "do not compute", "does not compute")
    return WaitCause("latency", f"{doing} meanwhile, each sample waits for something")


def _in_turns(computing: float, policy: Policy) -> WaitCause:
    """Return what workers wait for that take turns at a lock.

    Args:
        computing: cores busy with all of them together.
        policy: thresholds.
    """
    if computing >= policy.worker_busy:
        return WaitCause("turns_computing", "they take turns at a lock, and only the one who has it computes")
    return WaitCause("turns", "they take turns at a lock, and the one who has it waits for something")


def _made_in_time(case: Case, rank: RankSignals, *, idle: bool) -> WaitCause | None:
    """Return what is waited for where workers are seldom at a batch, as they time it; None: they are."""
    policy, share, batch_ms = case.policy, making_share(rank, case.policy), making_ms(rank, case.policy)
    if share is None or batch_ms is None or not made_in_time(rank, policy):
        return None
    none = f"none to make for {100 * (1 - share):.0f} % of the time"
    each = f"one in {batch_ms:.1f} ms"
    done = of_workers(rank, f"make {each} and have {none}", f"makes {each} and has {none}")
    if case.strongly_contended(rank.host):
        why = f"{done}, but other work keeps the cores busy: who waits for whom is open"
        return WaitCause("untold", why) if idle else None
    if made_sooner(rank, policy):
        of = f" of more than {policy.many_tensors} tensors" if in_pieces(rank, policy) else ""
        return WaitCause("needless", f"{done}: handing batches{of} over is the cost")
    return (
        WaitCause("uneven", f"{done}, so single batches come late, or handing them over takes long")
        if idle
        else None
    )


def _collated_in_workers(
    case: Case, rank: RankSignals, host: HostSignals | None, *, computing: bool = True
) -> WaitCause | None:
    """Return putting samples together in workers as the cause, from a window or as they time it; None: no.

    What they time holds waits as well: it counts where they are known to compute, and not to wait for
    storage, as samples that are views of a file are read only when they are copied into the batch.
    """
    policy, timed = case.policy, collating_timed(rank)
    if timed is not None and timed < policy.collating_timed:
        return None
    seen = collating_in_workers(rank, policy)
    by_looks = seen is not None and seen >= policy.collating
    by_time = timed is not None and computing and not storage_seen(case, rank, host)
    share = timed if timed is not None else seen
    if share is None or not (by_looks or by_time):
        return None
    why = f"{putting_together(rank)} takes {of_their_time(rank, share)}"
    return WaitCause("collate", why, stacked=copies_tensors(rank, policy))


def _between_heads(rank: RankSignals, cpu_share: float) -> float:
    """Return the CPU share of each worker between the heads of epochs, at most.

    Workers that are kept have nothing to do while the sampler begins: that they idle there says nothing of
    what batches cost them.
    """
    if rank.loader is None or not rank.loader.persistent_workers:
        return cpu_share
    heads = (rank.shares.loader_wait or 0.0) - steady_wait(rank)
    return max(cpu_share, min(1.0, cpu_share / (1 - heads))) if heads < 1 else cpu_share


def _taken_over(case: Case, rank: RankSignals, taking: float) -> WaitCause:
    policy = case.policy
    if wait_ms(rank) < policy.needless_item_ms or costs_more_than_it_brings(case, rank, taking):
        return WaitCause(
            "needless",
            f"{of_workers(rank, 'have', 'has')} hardly anything to do, and handing batches over is the cost",
        )
    of = f" of more than {policy.many_tensors} tensors" if in_pieces(rank, policy) else ""
    why = (
        f"the training thread itself computes for {100 * taking:.0f} % of the wait, to take over batches{of}"
    )
    return WaitCause("handover", why)


def _by_the_host(case: Case, host: HostSignals | None) -> WaitCause:
    """Return what the busy cores tell where single workers were not seen.

    Where others keep them busy, the run may be kept from them.
    """
    if host is None or host.run_busy is None or host.cpus is None:
        return WaitCause("unknown", "")
    if max(host.run_busy, host.cpu_busy or 0.0) >= case.policy.idle_cores * host.cpus:
        return WaitCause("unknown", "")
    idle = f"only {host.run_busy:.1f} of {host.cpus:g} cores are busy with this run"
    return WaitCause("latency", f"{idle}, so each sample waits for something")


def _connected(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether looks at the workers find them receiving from a socket, for most of the time.

    By where the kernel lets them sleep; in a window also by their stacks: they are known not to compute, so
    that one who is within a connection waits for the other end.
    """
    asleep = None if rank.workers is None else rank.workers.socket_share
    if asleep is not None and asleep >= policy.connected:
        return True
    samples = sum(seen.samples for seen in rank.worker_stacks)
    if samples < policy.worker_looks:
        return False
    within = sum(
        seen.samples * max((f.total_share for f in seen.frames if f.file.endswith(_CONNECTIONS)), default=0.0)
        for seen in rank.worker_stacks
    )
    return within >= policy.connected * samples


def storage_seen(case: Case, rank: RankSignals, host: HostSignals | None) -> bool:
    """Tell whether something shows that storage is what is waited for."""
    policy, workers = case.policy, rank.workers
    if workers is not None and workers.count:
        blocked = max(workers.blocked_share or 0.0, workers.io_wait_share or 0.0)
        if blocked >= policy.blocked_share:
            return True
        if (workers.storage_read_mib_s or 0.0) >= policy.storage_mib_s:
            return True
        if (workers.major_faults_per_s or 0.0) >= policy.major_faults_per_s:
            return True
    if host is None:
        return False
    if (host.run_storage_read_mib_s or 0.0) >= policy.storage_mib_s:
        return True
    pressure = host.pressure_io
    reads = (host.run_storage_read_mib_s or 0.0) > 0.1 or host.run_storage_read_mib_s is None
    of_the_run = pressure is not None and pressure.source == "cgroup"
    return of_the_run and reads and pressure is not None and (pressure.some or 0.0) >= policy.pressure_io


def slow_worker(case: Case, rank: RankSignals) -> int | None:
    """Return the number of the one worker whose batches are waited for; None: it is not one alone."""
    policy, waits = case.policy, rank.patterns.worker_wait_ms
    if steady_wait(rank) < policy.wait_warning:
        return None
    stacks = rank.facts.stacks
    if stacks is not None and sum(stacks.awaited.values()) >= policy.awaited_looks:
        return _awaited_alone(stacks, policy)
    if len(waits) < 2 or rank.patterns.worker_steps < policy.slow_worker_steps * len(waits):
        return None
    number = max(waits, key=lambda worker: (waits[worker], -worker))
    others = sorted(wait for worker, wait in waits.items() if worker != number)
    usual = others[len(others) // 2]
    total = sum(waits.values())
    slow = waits[number] >= policy.slow_worker_ratio * max(usual, 0.1)
    explains = total > 0 and waits[number] >= policy.slow_worker_share * total
    alone = _uneven(rank)
    return number if slow and explains and alone else None


def _awaited_alone(stacks: StackFacts, policy: Policy) -> int | None:
    """Return the worker that was waited for while all others were done.

    The waits by themselves do not tell: workers that are all too slow and run in step are waited for by turns
    of which only the first takes time, and that is always the same worker's.
    """
    looks = sum(stacks.awaited.values())
    worker, most = max(stacks.awaited.items(), key=lambda item: item[1])
    alone = most >= policy.awaited_share * looks and stacks.others_ready >= policy.awaited_share * looks
    return int(worker) if alone else None


def _uneven(rank: RankSignals) -> bool:
    """Tell whether the busiest computes all the time while on average they do not."""
    seen = rank.workers
    if seen is None or seen.cpu_share is None or seen.cpu_share_max is None:
        return False
    return seen.cpu_share_max >= 1.6 * seen.cpu_share
