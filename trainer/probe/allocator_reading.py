"""The CUDA caching allocator, read by the background thread: its own counters, no call to the driver.

CUDA is never initialised by looking: while the script has not, there is nothing to read.
"""

import re
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, TypeAlias

import torch

from perftui.ipc.facts import AllocatorFacts
from perftui.ipc.figures import counted
from perftui.ipc.units import MIB
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.happening import Happening

NOT_IN_USE = "CUDA is not in use by this process"
_CUDA = re.compile(r"cuda:(\d+)")

Stats: TypeAlias = dict[str, Any]


def nested_stats(device: int | None) -> tuple[str, Stats] | None:
    """Return the device and what torch's allocator counts on it; None while CUDA is not initialised.

    Args:
        device: index; None: that on which most is reserved.
    """
    cuda: Foreign = torch.cuda
    if not cuda.is_initialized():
        return None
    read: Callable[[int], Stats] = cuda.memory_stats_as_nested_dict
    if device is not None:
        return f"cuda:{device}", read(device)
    every = [(f"cuda:{index}", read(index)) for index in range(cuda.device_count())]
    return max(every, key=lambda one: _now(one[1], "reserved_bytes") or 0, default=None)


class AllocatorReader:
    """Reads the allocator, and notes retries and failures that are new.

    Args:
        stats: where the counters come from; another one than `nested_stats` only where there is no GPU.
    """

    def __init__(self, stats: Callable[[int | None], tuple[str, Stats] | None] = nested_stats) -> None:
        self._stats = stats
        self._before: AllocatorFacts | None = None
        self._happened: list[Happening] = []

    def read(self, device: str | None) -> tuple[AllocatorFacts | None, str | None]:
        """Return the counters, or None with the reason.

        Args:
            device: of the parameters, as `cuda:0`; another or None: the device with most memory reserved.
        """
        index = _CUDA.fullmatch(device or "")
        found = self._stats(int(index[1]) if index else None)
        if found is None:
            return None, NOT_IN_USE
        facts = as_facts(*found)
        self._compare(facts)
        return facts, None

    def take_happenings(self) -> list[Happening]:
        """Return what went wrong since the last call."""
        taken, self._happened = self._happened, []
        return taken

    def _compare(self, facts: AllocatorFacts) -> None:
        before, self._before = self._before, facts
        retries = facts.alloc_retries - (before.alloc_retries if before else 0)
        ooms = facts.ooms - (before.ooms if before else 0)
        held = (
            f"{facts.allocated_mib:,.0f} MiB in use, {facts.reserved_mib:,.0f} MiB reserved on {facts.device}"
        )
        if ooms > 0:
            text = f"out of memory, {counted(ooms, 'time')}, and the script went on; {held}"
            self._happened.append(Happening(perf_counter_ns(), "allocator", text))
        elif retries > 0:
            text = f"no memory was free, {counted(retries, 'time')}: the cache was emptied to get it; {held}"
            self._happened.append(Happening(perf_counter_ns(), "allocator", text))


def as_facts(device: str, stats: Stats) -> AllocatorFacts:
    """Return torch's nested counters as facts.

    Raises:
        KeyError: this torch names them in another way.
    """
    split = _now(stats, "inactive_split_bytes")
    return AllocatorFacts(
        device=device,
        allocated_mib=_mib(stats["allocated_bytes"]["all"]["current"]),
        reserved_mib=_mib(stats["reserved_bytes"]["all"]["current"]),
        inactive_split_mib=None if split is None else _mib(split),
        peak_allocated_mib=_mib(stats["allocated_bytes"]["all"]["peak"]),
        peak_reserved_mib=_mib(stats["reserved_bytes"]["all"]["peak"]),
        alloc_retries=stats["num_alloc_retries"],
        ooms=stats["num_ooms"],
        device_allocs=stats.get("num_device_alloc"),
        device_frees=stats.get("num_device_free"),
    )


def _now(stats: Stats, name: str) -> int | None:
    value: int | None = stats.get(name, {}).get("all", {}).get("current")
    return value


def _mib(count: int) -> float:
    return round(count / MIB, 1)
