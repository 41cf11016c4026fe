"""What this host cannot carry, before it is launched: workers against cores and memory. Pure."""

import math

from perftui.ipc.facts import BatchFacts
from perftui.ipc.search_records import Picture
from perftui.ipc.settings import Settings
from perftui.ipc.units import MIB
from perftui.trainer.tuning.predictor import most_processes

_WAITING_A_CORE = 8.0
_MEMORY_SHARE = 0.5
"""Of the memory that is free, and of the free /dev/shm: what batches loaded ahead may take."""
_PREFETCH = 2
_BYTES = {"64": 8, "32": 4, "16": 2, "8": 1, "bool": 1}


def most_workers(cpus: float, ranks: int) -> int:
    """Return the most workers of a rank that are tried unasked: some more than there are cores."""
    return max(1, math.floor(most_processes(cpus) / max(1, ranks)))


def most_waiting_workers(cpus: float, ranks: int) -> int:
    """Return the most workers of a rank at all: ones that were seen to wait need no core of their own."""
    return max(1, math.floor(_WAITING_A_CORE * cpus / max(1, ranks)))


def batch_mib(batch: BatchFacts | None) -> float | None:
    """Return how large a batch is, by the tensors that were looked at; None where that is not known."""
    if batch is None or not batch.newest.tensors:
        return None
    sizes = [math.prod(each.shape) * _bytes_of(each.dtype) for each in batch.newest.tensors]
    return sum(sizes) / MIB


def _bytes_of(dtype: str) -> int:
    return next((size for ending, size in _BYTES.items() if dtype.endswith(ending)), 4)


def why_too_much(after: Settings, picture: Picture, cpus: float) -> str | None:
    """Say why a configuration's workers are more than the host can carry; None when they are not."""
    for name, value in after.items():
        if not name.endswith(".num_workers") or not isinstance(value, int) or value == 0:
            continue
        most = most_waiting_workers(cpus, picture.ranks)
        if value > most:
            return f"{value * picture.ranks} workers on {cpus:g} cores would only get in each other's way"
        reason = _memory(after, name, value, picture)
        if reason is not None:
            return reason
    return None


def _memory(after: Settings, name: str, workers: int, picture: Picture) -> str | None:
    size = batch_mib(picture.facts.batch)
    if size is None:
        return None
    prefix = name.rpartition(".")[0]
    prefetch = after.get(f"{prefix}.prefetch_factor", picture.in_force.get(f"{prefix}.prefetch_factor"))
    ahead = prefetch if isinstance(prefetch, int) and not isinstance(prefetch, bool) else _PREFETCH
    needed = picture.ranks * workers * max(1, ahead) * size
    for free, where in ((picture.memory_free_mib, "memory"), (picture.shm_free_mib, "/dev/shm")):
        if free is not None and needed > _MEMORY_SHARE * free:
            return f"batches loaded ahead would take {needed:.0f} MiB; {free:.0f} MiB of {where} are free"
    return None
