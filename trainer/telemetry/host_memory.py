"""Memory as the run feels it: its limit, what is used without page cache, swapping, a cache too small."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.cgroups import Hierarchy, tightest_memory_limit
from perftui.trainer.telemetry.proc_files import numbers_by_name, read_whole
from perftui.trainer.telemetry.rates import Rates

_KIB_PER_MIB = 1024
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / MIB
_REFAULTS = (b"workingset_refault_file", b"workingset_refault")
"""Kernels before 5.9 have one counter for file pages and no other."""


@dataclass(frozen=True)
class MemoryUse:
    """Used and total in MiB, of whichever limit binds; None where it is not known."""

    used_mib: float | None
    total_mib: float | None
    scope: Literal["cgroup", "host"] | None
    swap_used_mib: float | None


def memory_use(root: Path, memory: Sequence[Hierarchy]) -> MemoryUse:
    """Return the memory of the cgroup where it has a limit below the host's, else of the host."""
    kib = numbers_by_name(read_whole(str(root / "proc/meminfo")))
    total, available = kib.get(b"MemTotal"), kib.get(b"MemAvailable")
    swap = (kib.get(b"SwapTotal"), kib.get(b"SwapFree"))
    swap_used = None if swap[0] is None or swap[1] is None else (swap[0] - swap[1]) / _KIB_PER_MIB
    limit = tightest_memory_limit(memory)
    if limit is not None and (total is None or limit.limit < total * 1024):
        used = None if limit.used is None else limit.used / MIB
        return MemoryUse(used, limit.limit / MIB, "cgroup", swap_used)
    if total is None:
        return MemoryUse(None, None, None, swap_used)
    used = None if available is None else (total - available) / _KIB_PER_MIB
    return MemoryUse(used, total / _KIB_PER_MIB, "host", swap_used)


@dataclass(frozen=True)
class Paging:
    """Since the reading before, in MiB a second; None where the kernel does not say (yet)."""

    swap_in_mib_s: float | None
    swap_out_mib_s: float | None
    refault_mib_s: float | None


class PagingClock:
    """Reads /proc/vmstat, and the refaults of the run's own group where it keeps them.

    The group may become another one, whose counter has a past of its own: each has its name.

    Attributes:
        counted: the figures whose counters were there at the last call.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._path = str(root / "proc/vmstat")
        self._rates: Rates[str] = Rates()
        self.counted: frozenset[str] = frozenset()

    def read(self, memory: Sequence[Hierarchy], now_s: float) -> Paging:
        """Return what happened since the last call."""
        host = numbers_by_name(read_whole(self._path))
        counters: dict[str, float] = {
            name: host[key] for name, key in (("in", b"pswpin"), ("out", b"pswpout")) if key in host
        }
        refaults = ""
        for source, stat in (_group_stat(memory), ("the host", host)):
            pages = next((stat[key] for key in _REFAULTS if key in stat), None)
            if pages is not None:
                refaults = f"refaults of {source}"
                counters[refaults] = pages
                break
        names = {"in": "swap_in_mib_s", "out": "swap_out_mib_s", refaults: "refault_mib_s"}
        self.counted = frozenset(names[counter] for counter in counters)
        rates = self._rates.take(counters, now_s)
        return Paging(
            swap_in_mib_s=_mib(rates.get("in")),
            swap_out_mib_s=_mib(rates.get("out")),
            refault_mib_s=_mib(rates.get(refaults)),
        )


def _group_stat(memory: Sequence[Hierarchy]) -> tuple[str, dict[bytes, int]]:
    """Return the folder of the run's group and what its memory.stat says."""
    for hierarchy in memory:
        stat = numbers_by_name(read_whole(str(hierarchy.own / "memory.stat")))
        if stat:
            return str(hierarchy.own), stat
    return "", {}


def _mib(pages: float | None) -> float | None:
    return None if pages is None else pages * _PAGE_MIB


def oom_kills(memory: Sequence[Hierarchy]) -> tuple[Path, int] | None:
    """Return the folder of the run's group, and how many processes in it were killed for want of memory.

    None: not known.
    """
    for hierarchy in memory:
        name = "memory.events" if hierarchy.version == 2 else "memory.oom_control"
        found = numbers_by_name(read_whole(str(hierarchy.own / name)))
        if b"oom_kill" in found:
            return hierarchy.own, found[b"oom_kill"]
    return None


class OomKillClock:
    """Processes that were killed for want of memory since their group was first looked at.

    The group is the hub's before the ranks are known and after they have ended, and theirs in between: each
    has a past of its own, and what was counted in one stays when another one is looked at. One may lie within
    another and its kills count in both, so that the most of any is told and not the sum.
    """

    def __init__(self) -> None:
        self._before: dict[Path, int] = {}
        self._most: int | None = None

    def read(self, memory: Sequence[Hierarchy]) -> int | None:
        """Return the most processes that were killed in any group so far; None: no group has told."""
        found = oom_kills(memory)
        if found is not None:
            group, kills = found
            grown = kills - self._before.setdefault(group, kills)
            self._most = max(self._most or 0, grown)
        return self._most


@dataclass(frozen=True)
class SharedMemory:
    """/dev/shm, through which loader workers hand over tensors; in MiB."""

    free_mib: float
    total_mib: float


def shared_memory(root: Path) -> SharedMemory | None:
    """Return the room in /dev/shm; None without one."""
    try:
        state = os.statvfs(root / "dev/shm")
    except OSError:
        return None
    return SharedMemory(state.f_bavail * state.f_frsize / MIB, state.f_blocks * state.f_frsize / MIB)
