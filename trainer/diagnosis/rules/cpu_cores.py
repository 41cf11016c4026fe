"""`cpu.*` of whole hosts: more threads than cores, a quota that is used up, a mask that leaves cores idle."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from perftui.ipc.figures import counted
from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.settings import Settings
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals

_POOLS = ("OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM", "NUMEXPR_NUM_THREADS")


def oversubscribed(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the threads of each host: those that compute in the ranks, and those of the workers."""
    for host in case.signals.hosts:
        ranks = [rank for rank in case.ranks if rank.host == host.name]
        if host.cpus is None or not ranks:
            continue
        found = _worker_pools(case, host, ranks) or _compute_threads(case, host, host.cpus, ranks)
        if found is not None:
            yield found


def _compute_threads(case: Case, host: HostSignals, cpus: float, ranks: list[RankSignals]) -> Finding | None:
    threads = [_threads(rank) for rank in ranks if rank.device == "cpu"]
    known = [count for count in threads if count is not None]
    total = sum(known)
    if len(known) != len(ranks) or total < case.policy.threads_over_cores * max(1.0, cpus):
        return None
    if total < cpus + 2 or not any(case.paced_by(rank, "model") for rank in ranks):
        return None
    fitting = max(1, math.floor(cpus / len(ranks)))
    idle = host.cpu_busy is not None and host.cpu_busy < 0.5 * cpus
    model = max(case.paces[rank.rank].parts.get("model", 0.0) for rank in ranks)
    by_script = _set_by_script(host, ranks)
    in_all = f", {total} in all," if len(ranks) > 1 else ""
    whose = "each rank computes" if len(ranks) > 1 else "the model computes"
    return Finding(
        code="cpu.oversubscribed",
        severity="info" if idle else "warning",
        share=0.0,
        host=host.name,
        sentence=f"{whose} with {max(known)} threads{in_all} on {counted(cpus, 'usable core')}: they "
        "take turns, and each operator waits for the last of its threads.".capitalize(),
        evidence=[
            number("threads that compute", total, "threads"),
            number("usable cores", cpus, "cores"),
            *_busy(host),
            number("forward, backward and optimizer", model, "share", ranks[0].window_steps),
        ],
        remedy=Remedy(
            set={} if by_script else _environment(ranks, ("OMP_NUM_THREADS",), str(fitting)),
            advice=f"torch.set_num_threads({fitting}) where the script sets the number itself",
            semantics="numeric",
            caution="another number of threads may sum in another order; with the cores free, more threads "
            "than ranks share may still be right",
        ),
    )


def _set_by_script(host: HostSignals, ranks: list[RankSignals]) -> bool:
    """Tell whether torch has another number of threads than by itself: a variable for it would be overridden.

    By itself it takes what OMP_NUM_THREADS says, else as many as there are cores, or half of them where two
    share one.
    """
    for rank in ranks:
        environment, threads = rank.facts.environment, _threads(rank)
        if environment is None:
            return False
        if "OMP_NUM_THREADS" in environment:
            by_itself = {environment["OMP_NUM_THREADS"]}
        else:
            counts = [count for count in (host.cores, host.online, host.given) if count]
            by_itself = {f"{count / part:g}" for count in counts for part in (1, 2)}
        if str(threads) not in by_itself:
            return True
    return False


def _threads(rank: RankSignals) -> int | None:
    return None if rank.facts.backends is None else rank.facts.backends.num_threads


def _worker_pools(case: Case, host: HostSignals, ranks: list[RankSignals]) -> Finding | None:
    policy = case.policy
    crowded = [
        (rank, rank.workers.threads / rank.workers.count)
        for rank in ranks
        if rank.workers is not None and rank.workers.count and (case.wait(rank) or 0.0) >= policy.wait_warning
    ]
    crowded = [
        (rank, each)
        for rank, each in crowded
        if _wants_several(rank, policy) or (each >= policy.worker_threads and workers_lack_cores(case, rank))
    ]
    if not crowded:
        return None
    rank, each = max(crowded, key=lambda pair: pair[1])
    workers = rank.workers
    assert workers is not None
    wait = case.wait(rank) or 0.0
    several = workers.count != 1
    whose = f"Each of {workers.count} loader workers has" if several else "The one loader worker has"
    return Finding(
        code="cpu.oversubscribed",
        severity="critical" if wait >= policy.wait_critical else "warning",
        share=wait,
        host=host.name,
        sentence=f"{whose} {each:.0f} threads for {counted(host.cpus or 0.0, 'usable core')}: libraries "
        "in them (BLAS, OpenCV) compute in pools of their own, which fight for cores.",
        evidence=[
            number("threads a worker", each, "threads"),
            number("CPU of each worker", workers.cpu_share or 0.0, "cores"),
            number("worker ready but without a core", workers.cpu_wait_share or 0.0, "share"),
            number("usable cores", host.cpus or 0.0, "cores"),
            number("loader wait", wait, "share", rank.window_steps),
        ],
        remedy=Remedy(
            set=_environment([rank], _POOLS, "1"),
            advice=_one_thread(rank),
            caution="NumPy in the training process computes with one thread too",
        ),
    )


def _one_thread(rank: RankSignals) -> str:
    advice = "one thread a worker: cv2.setNumThreads(0) and OPENBLAS_NUM_THREADS=1 (MKL_NUM_THREADS=1)"
    own = [name for name in (*_POOLS, "MKL_NUM_THREADS") if name in (rank.facts.own_environment or ())]
    return f"{advice}; the script itself sets {' and '.join(own)}: write 1 there" if own else advice


def _wants_several(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether a worker wants more cores than one, and does not get them.

    What computes in one thread takes at most one core, or waits for it: time on cores of all its threads and
    time its main thread was ready make more than one together only where several threads compute.
    """
    seen = rank.workers
    if seen is None or seen.cpu_share is None or (seen.cpu_wait_share or 0.0) < policy.worker_cpu_wait:
        return False
    return seen.cpu_share + (seen.cpu_wait_share or 0.0) >= policy.worker_wants


def workers_lack_cores(case: Case, rank: RankSignals) -> bool:
    """Tell whether a rank's workers are kept from cores, or fill them with several threads each."""
    workers, host = rank.workers, case.host(rank)
    if workers is None or host is None or host.cpus is None:
        return False
    waits = (workers.cpu_wait_share or 0.0) >= case.policy.worker_cpu_wait
    many = (workers.cpu_share or 0.0) * workers.count >= 0.7 * host.cpus
    return waits or (many and (workers.cpu_share or 0.0) > 1.2)


def _environment(ranks: list[RankSignals], names: tuple[str, ...], value: str) -> Settings:
    in_force = [rank.facts.environment or {} for rank in ranks]
    if any(name in (rank.facts.own_environment or ()) for rank in ranks for name in names):
        return {}  # the script would set it again
    wanted: Settings = {
        f"env.{name}": value for name in names if any(env.get(name) != value for env in in_force)
    }
    return offered(ranks[0], wanted)


def _busy(host: HostSignals) -> list[Evidence]:
    return [] if host.run_busy is None else [number("cores busy with this run", host.run_busy, "cores")]


def quota(case: Case) -> Iterator[Finding | Abstention]:
    """Judge hosts whose cgroup holds tasks back."""
    policy = case.policy
    for host in case.signals.hosts:
        if host.throttled_share is None or host.throttled_share < policy.throttled:
            continue
        if not any(rank.host == host.name for rank in case.ranks):
            continue
        firm = host.throttled_share >= policy.throttled_critical
        shown = [number("periods in which the quota ran out", host.throttled_share, "share")]
        if host.throttled_cores is not None:
            shown.append(number("CPUs held back", host.throttled_cores, "CPUs"))
        if host.cpus is not None:
            shown.append(number("quota", host.cpus, "cores"))
        if host.cores is not None:
            shown.append(number("cores to be seen", host.cores, "cores"))
        yield Finding(
            code="cpu.quota",
            severity="critical" if firm else "warning",
            share=0.0,
            host=host.name,
            sentence=f"The container's CPU quota{_cores(host.cpus)} was used up in "
            f"{percent(host.throttled_share)} of its periods: everything then stands still until the "
            "next one.",
            evidence=[*shown, *_busy(host)],
            remedy=Remedy(
                advice=f"give the container more CPU, or run no more busy threads and workers than its quota"
                f"{_cores(host.cpus)}: os.cpu_count() and torch do not see the quota",
            ),
        )


def _cores(cpus: float | None) -> str:
    return "" if cpus is None else f" of {cpus:g} cores"


class _Bound(NamedTuple):
    """Who is bound to how many CPUs, and how full these are."""

    mask: float
    whose: str
    full: float
    given: bool = False
    """The run was started with this mask: an allocation, that nobody in the run has narrowed."""


def affinity(case: Case) -> Iterator[Finding | Abstention]:
    """Judge hosts on which the run is bound to a few of many CPUs, and fills them.

    A mask that the run was started with is an allocation (a batch system's, taskset): that it is full is a
    remark beside what fills it. One that is narrower was set by the script or a library.
    """
    for host in case.signals.hosts:
        ranks = [rank for rank in case.ranks if rank.host == host.name]
        bound = _bound(case, host, ranks) if ranks else None
        if bound is None:
            continue
        firm = bound.mask <= 1 and bound.full >= case.policy.affinity_full
        yield Finding(
            code="cpu.affinity",
            severity="info" if bound.given else "critical" if firm else "warning",
            share=0.0,
            host=host.name,
            sentence=_affinity_sentence(host, bound),
            evidence=[
                number("CPUs of the affinity mask", bound.mask, "CPUs"),
                *([] if host.given is None else [number("CPUs it was started with", host.given, "CPUs")]),
                number("CPUs of the host", host.online or host.cores or 0.0, "CPUs"),
                *_busy(host),
            ],
            remedy=_wider(bound),
        )


def _affinity_sentence(host: HostSignals, bound: _Bound) -> str:
    of = f"{bound.mask:g} of {host.online or host.cores:g} CPUs on {host.name}"
    full = f"these are {percent(min(1.0, bound.full))} busy"
    if bound.given:
        return f"{bound.whose} was started on {of}, and {full}."
    return f"{bound.whose} may use {of}, and {full}."


def _wider(bound: _Bound) -> Remedy:
    if bound.given:
        return Remedy(
            advice="where all of them work for the training already, ask for more CPUs (--cpus-per-task, a "
            "wider taskset)"
        )
    return Remedy(
        advice="start without taskset or numactl, or with a wider mask; a library may have set it: "
        "os.sched_setaffinity(0, range(os.cpu_count())) after its import undoes that",
        caution="a batch system binds jobs on purpose: ask it for more CPUs instead",
    )


def _bound(case: Case, host: HostSignals, ranks: list[RankSignals]) -> _Bound | None:
    policy = case.policy
    if host.online and host.cores and host.cores <= host.online / 2 and host.run_busy is not None:
        given = host.given is not None and host.cores >= host.given
        # Of an allocation only the run's own need counts: whom else the scheduler put there is not its doing.
        busy = host.run_busy if given else max(host.run_busy, host.cpu_busy or 0.0)
        if busy >= policy.affinity_full * host.cores and host.run_busy >= policy.affinity_own * host.cores:
            return _Bound(host.cores, "The run", busy / host.cores, given)
    workers = [rank.workers for rank in ranks if rank.workers is not None and rank.workers.count > 1]
    starved = any((case.wait(rank) or 0.0) >= policy.wait_warning for rank in ranks)
    if host.worker_cores is None or not workers or not starved or host.cores is None:
        return None
    if host.worker_cores * 2 > host.cores:
        return None
    used = sum((each.cpu_share or 0.0) * each.count for each in workers) / host.worker_cores
    return _Bound(float(host.worker_cores), "The loader workers together", used) if used >= 0.6 else None
