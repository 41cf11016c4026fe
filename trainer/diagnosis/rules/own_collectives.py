"""What a script's own calls of torch.distributed cost, where no DDP is there whose exchange is timed."""

from perftui.ipc.trace_report import RankReport
from perftui.trainer.diagnosis.evidence import area_share
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import gpu_shares, trusted

_AREA = "communication"
_ALL_REDUCES = ("c10d::allreduce_", "c10d::allreduce_coalesced_")


def own_share(rank: RankSignals, policy: Policy) -> float | None:
    """Return the share of time in which a rank only waits for collectives of the script's; None: not seen.

    On a GPU by a window: the call returns at once, and the device waits. On a CPU by looks at the training
    thread, not for sharded models: what gathers their parameters computes in the same files.
    """
    parallel, model = rank.facts.parallel, rank.facts.model
    if parallel is None or parallel.ddp is not None or rank.world_size < 2:
        return None
    if rank.device != "cpu":
        shares = gpu_shares(trusted(rank.report, "comm.exposed"))
        return None if shares is None else shares.comm_exposed
    if model is None or model.sharded:
        return None
    return area_share(rank.facts.stacks, policy.stack_looks, _AREA)


def own_place(rank: RankSignals) -> str | None:
    """Return the line that was found most often in such a call; None: none was."""
    stacks = rank.facts.stacks
    places = () if stacks is None else [place for place in stacks.places if place.area == _AREA]
    most = max(places, key=lambda place: place.count, default=None)
    return None if most is None else most.at


def reduced_singly(rank: RankSignals, policy: Policy) -> tuple[float, float] | None:
    """Return the all-reduces a step of a script that sends small gradients one by one, and their mean MiB.

    A call for every second tensor of parameters is taken for that: tensor parallelism makes a few a layer.
    None: it does not, or no window shows it.
    """
    report, model, parallel = rank.report, rank.facts.model, rank.facts.parallel
    if report is None or model is None or not model.tensors or model.sharded:
        return None
    if parallel is None or parallel.ddp is not None:
        return None
    calls = _calls(report)
    mean_mib = model.mib / model.tensors
    many = calls >= max(policy.many_buckets, policy.reduced_singly * model.tensors)
    return (calls, mean_mib) if many and mean_mib < policy.tiny_bucket_mib else None


def _calls(report: RankReport) -> float:
    count = sum(each.count for each in report.operators if each.name in _ALL_REDUCES)
    return count / max(1, len(report.steps))
