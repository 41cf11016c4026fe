"""Cores busy, from cumulative kernel counters: the whole host's, and those of one run's processes.

Counters, not gauges: each reading covers the time since the one before it, whatever its length.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perftui.trainer.telemetry.cgroups import read_text

_IDLE_COLUMNS = (3, 4)
_COUNTED_COLUMNS = 8  # guest time is already in user time


class HostCpuClock:
    """Cores busy on the CPUs that this process may use, with everybody's work."""

    def __init__(self, cpus: frozenset[int], root: Path = Path("/")) -> None:
        self._cpus = cpus
        self._path = root / "proc/stat"
        self._before: tuple[int, int] | None = None

    def cores(self) -> float | None:
        """Return cores busy since the last call; None at the first one, or when the kernel does not say.

        Time taken by a hypervisor counts as busy: it was not ours to use.
        """
        now = _busy_and_total(read_text(self._path), self._cpus)
        before, self._before = self._before, now
        if now is None or before is None or now[1] <= before[1]:
            return None
        return max(0.0, (now[0] - before[0]) / (now[1] - before[1]) * len(self._cpus))


def _busy_and_total(stat: str, cpus: frozenset[int]) -> tuple[int, int] | None:
    busy = total = 0
    for line in stat.splitlines():
        name, _, numbers = line.partition(" ")
        if not name.startswith("cpu"):
            break
        if not name[3:].isdecimal() or int(name[3:]) not in cpus:
            continue
        columns = [int(number) for number in numbers.split()[:_COUNTED_COLUMNS]]
        total += sum(columns)
        busy += sum(columns) - sum(columns[column] for column in _IDLE_COLUMNS)
    return (busy, total) if total else None


@dataclass(frozen=True)
class _Times:
    """CPU time of one process in ticks: its own, and with the ended children that it has waited for."""

    own: int
    whole: int


_NO_TIME = _Times(0, 0)


class RunCpuClock:
    """Cores busy with a set of processes that come and go, and with their children.

    Children (loader workers) are looked up anew at each reading: they may be born and gone between two of the
    caller's own looks, and what is not seen as the run's would pass for others' work.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._hz = os.sysconf("SC_CLK_TCK")
        self._before: dict[tuple[int, int], _Times] = {}
        self._read_at: float | None = None

    def cores(self, pids: Iterable[int]) -> float | None:
        """Return cores busy since the last call; None at the first one."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME) * self._hz
        times = self._read(pids)
        before, read_at = self._before, self._read_at
        self._before, self._read_at = times, now
        if read_at is None or now <= read_at:
            return None
        return self._gained(before, times, read_at) / (now - read_at)

    @staticmethod
    def _gained(
        before: dict[tuple[int, int], _Times], now: dict[tuple[int, int], _Times], read_at: float
    ) -> int:
        own = whole = 0
        for key, times in now.items():
            # A process seen for the first time but older than the last reading brings no past with it.
            old = before.get(key, _NO_TIME if key[1] >= read_at else times)
            own += times.own - old.own
            whole += times.whole - old.whole
        # The time of a child that ended moves to its parent's account: what was counted before comes off.
        # Where nobody of ours waited for it, the survivors' own time is the best that is known.
        ended = sum(times.whole for key, times in before.items() if key not in now)
        return max(own, whole - ended, 0)

    def _with_children(self, pids: Iterable[int]) -> list[int]:
        family = dict.fromkeys(pids)
        ahead = list(family)
        while ahead:
            pid = ahead.pop()
            # Workers are started by the main thread; the kernel may be built without this file.
            children = read_text(self._proc / str(pid) / "task" / str(pid) / "children").split()
            for child in map(int, children):
                if child not in family:
                    family[child] = None
                    ahead.append(child)
        return list(family)

    def _read(self, pids: Iterable[int]) -> dict[tuple[int, int], _Times]:
        found: dict[tuple[int, int], _Times] = {}
        for pid in self._with_children(pids):
            fields = read_text(self._proc / str(pid) / "stat").rpartition(")")[2].split()
            if len(fields) < 20:
                continue  # it has ended
            own = int(fields[11]) + int(fields[12])
            found[pid, int(fields[19])] = _Times(own, own + int(fields[13]) + int(fields[14]))
        return found
