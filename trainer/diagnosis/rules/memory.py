"""`memory.*`: what runs out, what is nearly gone, and what grows; on the GPU and on the host."""

from collections.abc import Iterator

from perftui.ipc.facts import AllocatorFacts
from perftui.ipc.figures import counted
from perftui.ipc.findings import Evidence, Finding, Remedy, Severity
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import BATCH_OR_PRECISION, OTHER_BATCH
from perftui.trainer.diagnosis.evidence import number, offered, percent
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.rules.worker_memory import workers_growing
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals

_KEPT = (
    "look for what keeps results of steps: a list of losses without .item() or .detach(), a growing cache, "
    "retain_graph; in workers, Python objects that are copied as they are counted"
)


def out_of_memory(case: Case) -> Iterator[Finding | Abstention]:
    """Judge ends, and near-ends, for want of memory."""
    outcome = case.signals.outcome
    caught = [r for r in case.signals.ranks if r.facts.allocator is not None and r.facts.allocator.ooms]
    killed = [host for host in case.signals.hosts if (host.oom_kills or 0) > 0]
    if outcome == "oom_gpu" or caught:
        rank = caught[0] if caught else None
        allocator = rank.facts.allocator if rank is not None else None
        shown = [] if allocator is None else [number("peak in use", allocator.peak_allocated_mib, "MiB")]
        ended = outcome == "oom_gpu"
        yield Finding(
            code="memory.oom",
            severity="critical" if ended else "warning",
            share=0.0,
            rank=rank.rank if rank is not None and len(case.signals.ranks) > 1 else None,
            sentence="The training ended for want of GPU memory."
            if ended
            else "GPU memory ran out and the script went on: those steps are lost, and the cache was "
            "emptied.",
            evidence=shown,
            remedy=Remedy(
                advice="a smaller batch (with accumulated gradients, if the global batch must stay), "
                "bfloat16, "
                "activation checkpointing, or sharding the model (FSDP)",
                semantics="changes-training",
                caution=BATCH_OR_PRECISION,
            ),
        )
    if outcome == "oom_host" or killed:
        host = killed[0] if killed else None
        yield Finding(
            code="memory.oom",
            severity="critical" if outcome == "oom_host" else "warning",
            share=0.0,
            host=host.name if host is not None else None,
            sentence="The system ended a process of the run for want of memory: a loader worker may be "
            "missing "
            "or the training with it.",
            evidence=[number("processes ended", host.oom_kills or 0, "")] if host is not None else [],
            remedy=Remedy(
                advice=f"fewer workers, a lower prefetch_factor, a smaller batch; {_KEPT}",
                caution=OTHER_BATCH,
            ),
        )


def near_limit(case: Case) -> Iterator[Finding | Abstention]:
    """Judge allocators that must empty their cache, and hosts that are nearly full."""
    policy = case.policy
    for rank in case.ranks:
        retries = rank.change.alloc_retries if rank.change is not None else None
        allocator = rank.facts.allocator
        if not retries or allocator is None or rank.change is None:
            continue
        yield Finding(
            code="memory.near_limit",
            severity=_of_retries(rank),
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"GPU memory was used up {counted(round(retries), 'time')} of late: the allocator gave "
            "its cache back and asked again, which stops the GPU each time.",
            evidence=[
                number("times the cache was emptied", retries, ""),
                number("in use", allocator.allocated_mib, "MiB"),
                number("reserved", allocator.reserved_mib, "MiB"),
            ],
            remedy=Remedy(
                set=offered(rank, {"env.PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
                advice="a smaller batch, or less memory: bfloat16, activation checkpointing; "
                "FSDP with limit_all_gathers=True",
                caution=f"expandable segments help against fragmentation alone; {BATCH_OR_PRECISION}",
            ),
        )
        break
    else:
        yield from _nearly_full(case)
    for host in case.signals.hosts:
        if not host.memory_used_mib or not host.memory_total_mib:
            continue
        used = host.memory_used_mib / host.memory_total_mib
        swapping = (host.swap_in_mib_s or 0.0) >= policy.swapping_mib_s
        if used < policy.near_limit and not (swapping and used >= 0.8):
            continue
        yield Finding(
            code="memory.near_limit",
            severity="critical" if swapping else "warning" if used >= policy.near_limit_critical else "info",
            share=0.0,
            host=host.name,
            sentence=f"{percent(used)} of the memory of {host.name} is in use"
            f"{', and the system reads back what it had swapped out' if swapping else ''}.",
            evidence=[
                number("memory in use", host.memory_used_mib, "MiB"),
                number("memory there is", host.memory_total_mib, "MiB"),
                number("read back from swap", host.swap_in_mib_s or 0.0, "MiB/s"),
            ],
            remedy=Remedy(advice=f"fewer workers or a lower prefetch_factor; {_KEPT}"),
        )


def _nearly_full(case: Case) -> Iterator[Finding]:
    """Judge GPUs whose memory tensors themselves fill: what is cached could be given back, they could not."""
    policy = case.policy
    for rank in case.ranks:
        allocator, gpu = rank.facts.allocator, case.gpu(rank)
        if allocator is None or gpu is None or not gpu.memory_total_mib:
            continue
        peak = allocator.peak_allocated_mib / gpu.memory_total_mib
        if peak < policy.near_limit:
            continue
        yield Finding(
            code="memory.near_limit",
            severity="warning" if peak >= policy.near_limit_critical else "info",
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"Tensors take up to {percent(peak)} of the GPU's memory: a longer sequence, a larger "
            "batch or a fragmented cache ends the training.",
            evidence=[
                number("peak in use", allocator.peak_allocated_mib, "MiB"),
                number("memory there is", gpu.memory_total_mib, "MiB"),
                number("times the cache was emptied", allocator.alloc_retries, ""),
            ],
            remedy=Remedy(
                advice="it costs no time yet; more room: a smaller batch, bfloat16, activation "
                "checkpointing, less kept on the GPU",
                caution=BATCH_OR_PRECISION,
            ),
        )
        return


def fragmentation(case: Case) -> Iterator[Finding | Abstention]:
    """Judge GPU memory that is reserved and of no use."""
    for rank in case.ranks:
        allocator = rank.facts.allocator
        if allocator is None or not allocator.reserved_mib:
            continue
        part = _in_holes(allocator)
        gpu = case.gpu(rank)
        full = (
            gpu is not None
            and gpu.memory_total_mib
            and (allocator.reserved_mib >= 0.8 * gpu.memory_total_mib)
        )
        if part < case.policy.fragmented or not (full or allocator.alloc_retries):
            continue
        yield Finding(
            code="memory.fragmentation",
            severity=_of_retries(rank) if allocator.alloc_retries else "info",
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"{percent(part)} of the reserved GPU memory lies in pieces that new tensors do not fit"
            " into"
            + (
                ": the allocator gave its cache back and asked anew, although tensors take less than it has."
                if allocator.alloc_retries
                else "."
            ),
            evidence=[
                number("in pieces", part * allocator.reserved_mib, "MiB"),
                number("reserved", allocator.reserved_mib, "MiB"),
                number("most in use", allocator.peak_allocated_mib, "MiB"),
                number("times the cache was emptied", allocator.alloc_retries, ""),
            ],
            remedy=Remedy(
                set=offered(rank, {"env.PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
                advice="shapes that vary less (padding to a few lengths)",
            ),
        )
        return


def _in_holes(allocator: AllocatorFacts) -> float:
    """Return the share of reserved memory that is of no use: split now, or all that tensors never took.

    The second counts only where memory ran out: until then a cache may be as large as it likes.
    """
    now = (allocator.inactive_split_mib or 0.0) / allocator.reserved_mib
    if not allocator.alloc_retries or not allocator.peak_reserved_mib:
        return now
    return max(now, 1 - allocator.peak_allocated_mib / allocator.peak_reserved_mib)


def _of_retries(rank: RankSignals) -> Severity:
    change = rank.change
    retries = None if change is None else change.alloc_retries
    return "critical" if change is not None and retries and retries >= 0.5 * change.steps else "warning"


def growth(case: Case) -> Iterator[Finding | Abstention]:
    """Judge memory that rises with the steps."""
    for rank in case.ranks:
        change = rank.change
        if change is None or change.seconds < case.policy.growth_s or rank.patterns.run_steps < 50:
            continue
        gpu = _grows(case, change.allocated_mib, change.allocated_rise, change.seconds)
        host = _grows(case, change.kept_mib, change.kept_rise, change.seconds)
        if gpu:
            yield _growing(case, rank, "memory.growth", "GPU memory in use", change.allocated_mib or 0.0)
        if host:
            yield _growing(
                case, rank, "memory.host_growth", "The memory of the process", change.kept_mib or 0.0
            )
        if gpu or host:
            return
    workers = workers_growing(case)
    if workers is not None:
        yield workers


def _grows(case: Case, grown: float | None, rise: float | None, seconds: float) -> bool:
    policy = case.policy
    if grown is None or rise is None or rise < policy.growth_steady:
        return False
    return grown >= policy.growth_mib and grown * 60 / seconds >= policy.growth_per_min_mib


def _growing(case: Case, rank: RankSignals, code: str, what: str, grown: float) -> Finding:
    change = rank.change
    assert change is not None
    process = rank.facts.process
    left_s = _full_in_s(case, rank, grown) if code == "memory.growth" else None
    soon = left_s is not None and left_s < case.policy.full_in_s
    shown: list[Evidence] = [
        number("grown by", grown, "MiB", change.steps),
        number("within", change.seconds, "s"),
    ]
    if left_s is not None:
        shown.append(number("at this rate full in", left_s, "s"))
    if change.steps:
        shown.append(number("a step", 1024 * grown / change.steps, "KiB", change.steps))
    if code == "memory.host_growth" and process is not None:
        shown.append(number("resident memory", process.rss_mib, "MiB"))
        if process.file_mib is not None:
            shown.append(number("of mapped files, not counted", process.file_mib, "MiB"))
    return Finding(
        code=code,
        severity="critical" if soon else "warning",
        share=0.0,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        host=rank.host,
        sentence=f"{what} grew by {grown:,.0f} MiB in {change.seconds:.0f} s and goes on: something of every "
        f"step is kept{_soon(left_s) if soon else ''}.",
        evidence=shown,
        remedy=Remedy(advice=_KEPT),
    )


def _full_in_s(case: Case, rank: RankSignals, grown: float) -> float | None:
    """Return in how many seconds tensors fill the GPU at the rate of late; None: its size was not read.

    What the allocator has cached already is free to them.
    """
    gpu, allocator, change = case.gpu(rank), rank.facts.allocator, rank.change
    if gpu is None or not gpu.memory_total_mib or gpu.memory_used_mib is None or change is None:
        return None
    cached = 0.0 if allocator is None else max(0.0, allocator.reserved_mib - allocator.allocated_mib)
    free = max(0.0, gpu.memory_total_mib - gpu.memory_used_mib) + cached
    return free * change.seconds / grown


def _soon(left_s: float | None) -> str:
    minutes = max(1.0, (left_s or 0.0) / 60)
    return f"; at this rate the GPU is full in about {minutes:.0f} min, and the training ends"


def shared_memory(case: Case) -> Iterator[Finding | Abstention]:
    """Judge /dev/shm, through which workers hand batches over."""
    for host in case.signals.hosts:
        workers = _workers_on(case, host)
        if not workers or host.shm_free_mib is None or not host.shm_total_mib:
            continue
        free = host.shm_free_mib / host.shm_total_mib
        if free >= case.policy.shm_full and host.shm_free_mib >= 16:
            continue
        yield Finding(
            code="memory.shm",
            severity="warning",
            share=0.0,
            host=host.name,
            sentence=f"/dev/shm has {host.shm_free_mib:.0f} of {host.shm_total_mib:.0f} MiB free, and "
            f"{workers} "
            "workers pass batches through it: when it is full they die by a bus error.",
            evidence=[
                number("free", host.shm_free_mib, "MiB"),
                number("size", host.shm_total_mib, "MiB"),
                number("loader workers", workers, ""),
            ],
            remedy=Remedy(
                advice="a container with a larger one (docker run --shm-size=8g), fewer workers, or a lower "
                "prefetch_factor"
            ),
        )


def _workers_on(case: Case, host: HostSignals) -> int:
    ranks = (rank for rank in case.signals.ranks if rank.host == host.name and rank.loader is not None)
    return sum(rank.loader.num_workers for rank in ranks if rank.loader is not None)
