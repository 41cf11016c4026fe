"""What to do about a rank that waits for its loader, and under which code: a setting, or advice in words."""

import math
from collections import defaultdict
from dataclasses import dataclass

from perftui.ipc.figures import counted
from perftui.ipc.findings import Remedy
from perftui.ipc.loader_names import join_name
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.prerequisites import batches_on_device
from perftui.ipc.settings import Semantics, Settings
from perftui.trainer.diagnosis.batch_costs import collating_timed
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import OTHER_BATCH
from perftui.trainer.diagnosis.contention import UNSURE
from perftui.trainer.diagnosis.evidence import main_place, of_the_script
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import steady_wait, won_share
from perftui.trainer.diagnosis.sample_advice import FROM_TENSORS, cheaper_samples, fewer_bytes
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals
from perftui.trainer.diagnosis.wait_cause import WaitCause
from perftui.trainer.diagnosis.worker_time import crowded_waits, turns_known
from perftui.trainer.tuning.predictor import SMALLEST_GAIN, SPARE_WORKERS, WorkersProposal, propose_workers

_UNSHARDED = (
    "more workers only after the dataset shards itself over them (torch.utils.data.get_worker_info): "
    "otherwise each worker reads all of the data again"
)
_ON_DEVICE = (
    "the dataset puts its samples on the GPU, where forked workers cannot follow: keep them on the CPU, copy "
    "whole batches in the loop, and take workers; or, with all of the data on the GPU, index a whole batch "
    "at a time there (`__getitems__`, or no DataLoader)"
)
_STORAGE = (
    "a faster disk or a local copy; fewer and larger files (shards) instead of many small ones; one file "
    "handle a worker"
)
_DISTANT = (
    "a copy of the data on a local disk; fewer and larger requests (shards, many samples a request); one "
    "connection a worker, kept open"
)
_ELSEWHERE = "find out what each sample waits for: storage, the network, a lock, a service"
_AT_ITS_LIMIT = "storage that is at its limit already gives no more to more workers"
_SERVED_IN_TURN = "what serves one request at a time gives no more to more workers"
_WITHOUT_LOCK = (
    "read without the lock, or hold it for less: one file handle or connection a worker; where what it "
    "guards serves one request at a time, fewer and larger requests (shards, many samples a request), or a "
    "copy of the data on a local disk; more workers would only wait with the others"
)
_SHORTER_LOCK = (
    "hold the lock for less of the work, or give each worker its own of what it guards; more workers would "
    "only wait with the others"
)
_LATE = (
    "a larger `prefetch_factor` evens out batches that take long now and then; one tensor or array for each "
    "field makes handing a batch over shorter"
)
_OPEN_TURNS = (
    "whether more workers would wait at the same time, or in turns for what serves one request at a time: a "
    "trial with more of them tells"
)
_OPEN_LATE = (
    "whether single batches take long or handing them over does: a profile window with the workers' stacks"
)
_SLOWEST_WORKERS = 32
_METHODS = frozenset({"__getitem__", "__getitems__", "__iter__", "<module>"})


@dataclass(frozen=True)
class Answer:
    """A remedy, and what would settle the question where the signals do not."""

    remedy: Remedy | None
    unsure: str | None = None


def answer_to(case: Case, rank: RankSignals, cause: WaitCause) -> tuple[str, Answer]:
    """Return the code under which a starved rank is reported, and what to do."""
    facts, host, policy = rank.loader, case.host(rank), case.policy
    if facts is None:
        return "input.workers", Answer(None, "the loader's own settings have not been read yet")
    if won_share(rank, policy) < policy.wait_warning:
        advice = "larger batches, or a dataset that is indexed a batch at a time"
        return "input.workers", Answer(
            Remedy(advice=advice, caution=OTHER_BATCH, semantics="changes-training")
        )
    if cause.cause == "slow_worker":
        return "input.one_slow_worker", Answer(_slow_worker(cause))
    if cause.cause == "needless":
        return "input.too_many_workers", Answer(_without_workers(facts))
    if facts.iterable and facts.sharded is not True:
        doubt = None if facts.sharded is False else "whether the dataset shards itself is not known"
        return _named(cause), Answer(Remedy(advice=_UNSHARDED, at=_at(case, rank)), doubt)
    if cause.cause != "collate" and _only_without_workers(rank, facts):
        return _named(cause), Answer(Remedy(advice=_ON_DEVICE, bound=_bound(rank), at=_at(case, rank)))
    if cause.cause == "untold":
        return "input.workers", Answer(None, UNSURE)
    if cause.cause == "uneven":
        return _late(case, rank, facts, host)
    if cause.cause in ("turns", "turns_computing"):
        return _named(cause), Answer(_one_at_a_time(case, rank, cause))
    if cause.cause == "collate":
        return "input.collate", Answer(_collate(case, rank, facts, host, cause))
    if cause.cause == "handover":
        return "input.collate", Answer(_fewer_pieces(rank))
    if cause.cause in ("storage", "connection", "latency"):
        open_ = cause.cause == "latency" and crowded_waits(case, rank)
        unsure = _OPEN_TURNS if open_ else None
        code = "input.storage" if open_ and not turns_known(rank, policy) else _named(cause)
        return code, Answer(_overlapped(case, rank, facts, host, cause), unsure)
    if host is None or host.cpus is None:
        return "input.workers", Answer(None, "how many cores are usable has not been measured yet")
    if too_many(case, rank, facts, host.cpus):
        return "input.too_many_workers", Answer(fewer_workers(facts, host.cpus, case.ranks_on(rank.host)))
    proposal = _proposal(case, rank, facts, host, host.cpus)
    if proposal is not None:
        remedy = _setting(rank, facts, proposal, host, policy, _at_least(case), _at(case, rank))
        return "input.workers", Answer(remedy)
    return "input.item", _dear_items(case, rank, facts, host.cpus)


def setting_name(facts: LoaderFacts, name: str = "num_workers") -> str:
    """Return the key of a setting of this loader."""
    return join_name(facts.index, name)


def _only_without_workers(rank: RankSignals, facts: LoaderFacts) -> bool:
    """Tell whether the loader has no workers and could have none: its samples are made on the GPU."""
    return facts.num_workers == 0 and batches_on_device(rank.facts) is True


def _bound(rank: RankSignals) -> float | None:
    """Return how many times as fast the training is at most without the steady wait."""
    wait = steady_wait(rank)
    return round(1 / (1 - wait), 2) if wait < 1 else None


def _named(cause: WaitCause) -> str:
    if cause.cause == "turns_computing":
        return "input.item"
    return "input.storage" if cause.cause in ("storage", "connection", "turns") else "input.workers"


def _at_least(case: Case) -> int:
    """Return the most workers that any rank has: a setting applies to all, and none may lose by it."""
    return max((r.loader.num_workers for r in case.signals.ranks if r.loader is not None), default=0)


def _at(case: Case, rank: RankSignals) -> str | None:
    """Return the line where samples are made: by looks at the training thread, or at workers in a window."""
    if rank.loader is not None and rank.loader.num_workers:
        return _in_workers(rank, case.policy) or _by_times(rank, case.policy)
    place = main_place(rank.facts.stacks, case.policy.place_share, "dataset", "collate")
    return place.at if place is not None and of_the_script(place.at) else None


def _by_times(rank: RankSignals, policy: Policy) -> str | None:
    """Return what is asked for samples or what collates, whichever takes most as workers time it."""
    putting, facts = collating_timed(rank), rank.loader
    if putting is None or facts is None:
        return None
    return (facts.collate_at if putting >= policy.collating_timed else facts.fetch_at) or None


def _in_workers(rank: RankSignals, policy: Policy) -> str | None:
    """Return the function, of those that are not installed, in which the workers spend most of their time.

    Every sample is made in the dataset's own method: what that calls says more, where it takes long enough.
    """
    samples = sum(seen.samples for seen in rank.worker_stacks)
    if samples < policy.worker_looks:
        return None
    shares: dict[tuple[bool, str], float] = defaultdict(float)
    for seen in rank.worker_stacks:
        for frame in seen.frames:
            if of_the_script(frame.file):
                inner = frame.function.rpartition(".")[2] not in _METHODS
                place = f"{frame.file}:{frame.line} {frame.function}"
                shares[inner, place] += frame.total_share * seen.samples / samples
    found = [(inner, share, place) for (inner, place), share in shares.items() if share >= policy.place_share]
    return max(found)[2] if found else None


def _proposal(
    case: Case, rank: RankSignals, facts: LoaderFacts, host: HostSignals, cpus: float
) -> WorkersProposal | None:
    return propose_workers(
        rank.step_ms.mean,
        steady_wait(rank),
        facts.num_workers,
        cpus,
        case.ranks_on(rank.host),
        rank.cpu_share,
        host.run_busy,
        on_gpu=rank.device.startswith("cuda"),
    )


def _short_epochs(facts: LoaderFacts, policy: Policy) -> bool:
    """Tell whether workers that start anew at each epoch would cost what they bring: they must be kept."""
    batches = facts.batches_per_epoch
    return batches is not None and batches < policy.short_epoch_steps and not facts.persistent_workers


def _setting(
    rank: RankSignals,
    facts: LoaderFacts,
    proposal: WorkersProposal,
    host: HostSignals,
    policy: Policy,
    at_least: int,
    at: str | None,
) -> Remedy:
    wanted: Settings = {setting_name(facts): max(proposal.num_workers, at_least)}
    if _short_epochs(facts, policy):
        wanted[setting_name(facts, "persistent_workers")] = True
    won = won_share(rank, policy)
    expected = min(proposal.expected, 1 / (1 - won)) if won < 1 else proposal.expected
    return Remedy(
        set=wanted,
        bound=round(proposal.bound, 2) if math.isfinite(proposal.bound) else None,
        expected=round(expected, 2),
        semantics=semantics_of_workers(facts),
        at=at,
        caution="; ".join(_cautions(facts, host, policy)),
    )


def semantics_of_workers(facts: LoaderFacts) -> Semantics:
    """Return what another number of workers does to the training.

    A stream is divided among its workers: other batches in another order, each with a remainder and a buffer
    to shuffle in of its own.
    """
    return "changes-training" if facts.iterable else "neutral"


def _cautions(facts: LoaderFacts, host: HostSignals | None, policy: Policy) -> list[str]:
    said = ["the samples and their order stay, random augmentations draw another stream of numbers"]
    if _short_epochs(facts, policy):
        batches = counted(facts.batches_per_epoch or 0, "batch", "batches")
        said.append(
            f"epochs are short ({batches}) and workers would start anew at each one: "
            "kept ones have their own copy of the dataset"
        )
    if host is not None and host.shm_free_mib is not None and host.shm_free_mib < policy.shm_low_mib:
        said.append(f"workers pass batches through /dev/shm, which has {host.shm_free_mib:.0f} MiB free")
    return said


def _overlapped(
    case: Case, rank: RankSignals, facts: LoaderFacts, host: HostSignals | None, cause: WaitCause
) -> Remedy:
    """Offer workers whose waits overlap: they need no core of their own."""
    step_ms, wait = rank.step_ms.mean, steady_wait(rank)
    prepare_ms = wait * step_ms if facts.num_workers == 0 else facts.num_workers * step_ms
    compute_ms = max((1 - wait) * step_ms, 0.01 * step_ms)
    most = max(facts.num_workers, min(_SLOWEST_WORKERS, 4 * max(2, facts.num_workers)))
    workers = min(most, math.ceil(SPARE_WORKERS * prepare_ms / compute_ms))
    expected = step_ms / max(compute_ms, prepare_ms / max(1, workers))
    advice = {"storage": _STORAGE, "connection": _DISTANT}.get(cause.cause, _ELSEWHERE)
    if workers <= facts.num_workers or expected < SMALLEST_GAIN:
        return Remedy(advice=advice, at=_at(case, rank))
    bound = 1 / (1 - wait) if wait < 1 else math.inf
    cautions = ["workers wait at the same time and need few cores", *_cautions(facts, host, case.policy)]
    cautions.append(_AT_ITS_LIMIT if cause.cause == "storage" else _SERVED_IN_TURN)
    return Remedy(
        set={setting_name(facts): max(workers, _at_least(case))},
        bound=round(bound, 2) if math.isfinite(bound) else None,
        expected=round(min(expected, bound), 2),
        advice=advice,
        semantics=semantics_of_workers(facts),
        at=_at(case, rank),
        caution="; ".join(cautions),
    )


def _collate(
    case: Case, rank: RankSignals, facts: LoaderFacts, host: HostSignals | None, cause: WaitCause
) -> Remedy:
    proposal = None
    if host is not None and host.cpus is not None and not _only_without_workers(rank, facts):
        proposal = _proposal(case, rank, facts, host, host.cpus)
    return Remedy(
        set={} if proposal is None else {setting_name(facts): max(proposal.num_workers, _at_least(case))},
        bound=_bound(rank),
        expected=None if proposal is None else round(proposal.expected, 2),
        advice=fewer_bytes(rank) if cause.stacked else FROM_TENSORS,
        semantics="neutral" if proposal is None else semantics_of_workers(facts),
        at=_at(case, rank),
    )


def _fewer_pieces(rank: RankSignals) -> Remedy:
    return Remedy(
        bound=_bound(rank),
        advice="let the dataset (or collate_fn) return one tensor or array for each field: a Python list "
        "becomes a tensor for each of its elements, and each tensor of a batch is handed over by itself",
    )


def _one_at_a_time(case: Case, rank: RankSignals, cause: WaitCause) -> Remedy:
    advice = _WITHOUT_LOCK if cause.cause == "turns" else _SHORTER_LOCK
    return Remedy(bound=_bound(rank), advice=advice, at=_at(case, rank))


def _late(case: Case, rank: RankSignals, facts: LoaderFacts, host: HostSignals | None) -> tuple[str, Answer]:
    """Answer workers that have little to do and are waited for all the same: a crowd of them is no use."""
    if host is not None and host.cpus and crowded_waits(case, rank):
        fewer = fewer_workers(facts, host.cpus, case.ranks_on(rank.host))
        return "input.too_many_workers", Answer(fewer, _OPEN_LATE)
    return "input.workers", Answer(Remedy(bound=_bound(rank), advice=_LATE), _OPEN_LATE)


def _slow_worker(cause: WaitCause) -> Remedy:
    return Remedy(
        advice=f"see what worker {cause.slow_worker} does differently (its share of the files, a slow disk "
        "or connection, a lock); `in_order=False` lets the others go first",
        caution="in_order=False changes the order of the samples",
        semantics="changes-training",
    )


def _without_workers(facts: LoaderFacts) -> Remedy:
    return Remedy(
        set={setting_name(facts): 0},
        advice="an experiment: with so little to prepare, no workers may be faster",
        caution="random augmentations draw another stream of numbers",
        semantics=semantics_of_workers(facts),
    )


def too_many(case: Case, rank: RankSignals, facts: LoaderFacts, cpus: float) -> bool:
    """Tell whether a host has many more workers than cores, and they feel it."""
    seen, policy = rank.workers, case.policy
    total = facts.num_workers * case.ranks_on(rank.host)
    if total < policy.many_workers * cpus or total < 4:
        return False
    return seen is not None and (seen.cpu_wait_share or 0.0) >= policy.worker_cpu_wait


def fewer_workers(facts: LoaderFacts, cpus: float, ranks_on_host: int) -> Remedy:
    """Offer as many workers as there are cores for them."""
    fitting = max(1, math.floor(cpus / max(1, ranks_on_host)))
    return Remedy(
        set={setting_name(facts): fitting},
        advice="an experiment: as many workers as there are cores for them",
        caution="random augmentations draw another stream of numbers",
        semantics=semantics_of_workers(facts),
    )


def _allocated(host: HostSignals | None) -> str:
    """Say how many cores there are beyond those the job was started on."""
    if host is None or not host.given or not host.online or host.given * 2 > host.online:
        return ""
    return f": it was started on {host.given:g} of {host.online:g}"


def _named_by(rank: RankSignals, policy: Policy) -> str:
    """Say what would name the function that takes the workers' time, also after a window that did not."""
    samples = sum(seen.samples for seen in rank.worker_stacks)
    if rank.loader is not None and rank.loader.num_workers and 0 < samples < policy.worker_looks:
        return (
            f"a longer profile window: the last one found the workers {counted(samples, 'time')}, and "
            f"{policy.worker_looks} are needed to name the function that takes their time"
        )
    shows = "a profile window shows which function of the workers takes the time"
    if rank.loader is not None and rank.loader.num_workers and rank.workers_unseen:
        return f"{rank.workers_unseen}; then {shows}"
    return shows


def _dear_items(case: Case, rank: RankSignals, facts: LoaderFacts, cpus: float) -> Answer:
    ranks = case.ranks_on(rank.host)
    place, host = _at(case, rank), case.host(rank)
    known = place is not None and place != _by_times(rank, case.policy)
    settled = None if known else _named_by(rank, case.policy)
    if facts.num_workers == 0:
        full = f"the usable cores ({cpus:g}) are full already, workers would only share them"
    else:
        shared = f" for {ranks} ranks" if ranks > 1 else ""
        are = "is" if facts.num_workers == 1 else "are"
        cores = counted(cpus, "usable core")
        full = f"{counted(facts.num_workers, 'worker')} {are} all that {cores} can run{shared}"
    return Answer(
        Remedy(
            advice=f"{full}: {cheaper_samples(rank, case.policy)}{_allocated(host)}",
            bound=_bound(rank),
            at=place,
        ),
        settled,
    )
