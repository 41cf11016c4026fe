"""What a batch of loader workers costs beside its samples: putting it together, and taking it over."""

from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.readiness import steady_wait
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.worker_time import making_share

_FETCHING = frozenset({"fetch"})
_ASKING = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
_STACKING = frozenset({"aten::stack", "aten::cat"})
_COLLATES_OF_TORCH = frozenset({"default_collate", "default_convert"})
_LOADER_OF_TORCH = "torch/utils/data/dataloader.py"
"""Is on the stack of every forked worker, as it was when it was forked."""


def taking_over(case: Case, rank: RankSignals) -> float | None:
    """Return the CPU share of the training thread while it waits, where taking batches over is what it does.

    None: it is not, or that was not measured. The workers are known to be idle.
    """
    taking = _computes_while_waiting(rank)
    if taking is None or (taking < case.policy.takes_over and not _slowest_taking(case, rank, taking)):
        return None
    return taking


def _computes_while_waiting(rank: RankSignals) -> float | None:
    """Return the CPU share of the training thread while it waits for workers, at least; None: not measured.

    All that lies outside the steady wait, starting workers among it, is taken as busy throughout.
    """
    wait = steady_wait(rank)
    if rank.cpu_share is None or not wait:
        return None
    return max(0.0, rank.cpu_share - (1 - wait)) / wait


def _slowest_taking(case: Case, rank: RankSignals, taking: float) -> bool:
    """Tell on a busy host, where nobody gets a core, whether taking batches over is more than making them.

    All shares are small then: the thread's CPU time is set against that of one worker, for batches in pieces.
    """
    if rank.workers is None or not case.strongly_contended(rank.host) or not in_pieces(rank, case.policy):
        return False
    return taking * steady_wait(rank) >= max(case.policy.takes_over_busy, rank.workers.cpu_share or 0.0)


def in_pieces(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether a batch is many tensors, each of which is handed over by itself."""
    batch = rank.facts.batch
    return batch is not None and (batch.newest.more or len(batch.newest.tensors) > policy.many_tensors)


def collating_in_workers(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of the workers' time on batches in which they put samples together, from a window.

    A worker fetches a batch in one function of torch, which first asks the dataset for the samples and then
    collates them: what is in that function and not in a method of a dataset is collating.
    """
    stacks = [seen for seen in rank.worker_stacks if seen.samples]
    samples = sum(seen.samples for seen in stacks)
    fetching = sum(seen.samples * _share_in(seen, _FETCHING) for seen in stacks)
    if samples < policy.worker_looks or fetching < policy.own_looks:
        return None
    asking = sum(seen.samples * _share_in(seen, _ASKING) for seen in stacks)
    bare = sum(seen.samples * frame.self_share for seen in stacks for frame in seen.frames if _fetches(frame))
    return max(0.0, fetching - asking - bare) / fetching


def collating_timed(rank: RankSignals) -> float | None:
    """Return the share of the time on batches in which samples are put together, as timed where it is done.

    None: not timed, or it is another loader's. Waits for storage and for a core are part of the times.
    """
    timed = rank.facts.loading
    if timed is None or rank.loader is None or timed.loader != rank.loader.index:
        return None
    spent_s = timed.fetch_s + timed.collate_s
    return timed.collate_s / spent_s if spent_s > 0 else None


def putting_together(rank: RankSignals) -> str:
    """Return "building the batch", with the function that does it where it is known and not torch's."""
    timed = None if collating_timed(rank) is None else rank.facts.loading
    if timed is None or not timed.collate or timed.collate in _COLLATES_OF_TORCH:
        return "building the batch"
    line = _line_of("" if rank.loader is None else rank.loader.collate_at)
    return f"building the batch (collate_fn {timed.collate}{line and f', {line}'})"


def fetch_samples(rank: RankSignals) -> str:
    """Return "fetch samples", with the method of the script's own dataset that is asked for them."""
    at = "" if rank.loader is None else rank.loader.fetch_at
    return f"fetch samples ({at.partition(' ')[2]}, {_line_of(at)})" if at else "fetch samples"


def _line_of(at: str) -> str:
    return at.partition(" ")[0]


def copies_tensors(rank: RankSignals, policy: Policy) -> bool:
    """Tell whether torch's own function makes few tensors of the samples: then they are such, or numbers."""
    timed, batch = rank.facts.loading, rank.facts.batch
    torchs = timed is not None and timed.collate in _COLLATES_OF_TORCH
    return torchs and batch is not None and not in_pieces(rank, policy)


def costs_more_than_it_brings(case: Case, rank: RankSignals, taking: float) -> bool:
    """Tell whether a crowd of workers makes batches in less time than the training thread takes them over.

    Without workers that thread would make them itself. How long that takes is timed, or told from looks at
    the workers in a window: the share that finds one at a batch, times their number and a step's length.

    Args:
        case: the run.
        rank: of which the workers are known to be idle.
        taking: share of the steady wait in which the training thread takes batches over.
    """
    host, policy = case.host(rank), case.policy
    if host is None or not host.cpus or rank.loader is None:
        return False
    number, timed = rank.loader.num_workers, making_share(rank, policy)
    if number * case.ranks_on(rank.host) < policy.many_workers * host.cpus:
        return False
    if timed is not None:
        return number * timed < taking * steady_wait(rank)
    samples = sum(seen.samples for seen in rank.worker_stacks)
    if samples < policy.worker_looks:
        return False
    fetching = sum(seen.samples * _share_in(seen, _FETCHING) for seen in rank.worker_stacks)
    return number * (fetching + 1) / samples < taking * steady_wait(rank)


def stacking(rank: RankSignals) -> float | None:
    """Return the share of the step that stacking samples takes in the training thread, at least.

    From a window, which measures it, where looks find it whenever the thread lets go of the interpreter. All
    that lies outside of the loading is taken as such operators of the model's. None: no window.
    """
    report, wait = rank.report, rank.shares.loader_wait
    if report is None or not report.window_ms or wait is None:
        return None
    spent = sum(each.self_us for each in report.operators if each.name in _STACKING)
    return max(0.0, spent / 1e3 / report.window_ms - (1 - wait))


def _share_in(stacks: WorkerStacks, methods: frozenset[str]) -> float:
    """Return the share of the samples in which the outermost of these methods was on the stack."""
    shares = [
        frame.total_share
        for frame in stacks.frames
        if frame.function.rpartition(".")[2] in methods
        and (_fetches(frame) if methods is _FETCHING else _LOADER_OF_TORCH not in frame.file)
    ]
    return max(shares, default=0.0)


def _fetches(frame: WorkerFrame) -> bool:
    return frame.file.endswith("torch/utils/data/_utils/fetch.py")
