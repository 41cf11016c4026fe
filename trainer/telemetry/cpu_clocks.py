"""Cores busy, from cumulative kernel counters: the whole host's, and those of one run's processes.

Counters, not gauges: each reading covers the time since the one before it, whatever its length.
"""

import os
from dataclasses import dataclass

from perftui.trainer.telemetry.proc_files import whole_numbers
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, ProcessTable

_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL = range(8)
_COUNTED_COLUMNS = 8  # guest time is already in user time


@dataclass(frozen=True)
class HostCpu:
    """What the CPUs of a mask did since the reading before, in cores; with everybody's work."""

    busy: float
    system: float
    """In the kernel, interrupts included; part of `busy`."""
    stolen: float
    """Taken by a hypervisor; part of `busy`: it was not ours to use."""
    iowait_share: float
    """Share of all CPU time that was idle while a task of that CPU waited for a disk (0-1)."""


class HostCpuClock:
    """Time of the CPUs that the run may use.

    Attributes:
        counted: whether the last text told of them: of CPUs under other numbers, or only zeros, it does not.
    """

    def __init__(self, cpus: frozenset[int]) -> None:
        self.cpus = cpus
        self.counted = False
        self._before: list[int] | None = None

    def take(self, stat: bytes) -> HostCpu | None:
        """Return what happened since the last call, from the text of /proc/stat.

        None at the first call, and when the kernel does not say.
        """
        now = _sums(stat, self.cpus)
        before, self._before = self._before, now
        self.counted = now is not None
        if now is None or before is None:
            return None
        gained = [max(0, new - old) for new, old in zip(now, before, strict=True)]
        total = sum(gained)
        if not total:  # counters that stand still
            self.counted = False
            return None
        cores = len(self.cpus) / total
        return HostCpu(
            busy=(total - gained[_IDLE] - gained[_IOWAIT]) * cores,
            system=(gained[_SYSTEM] + gained[_IRQ] + gained[_SOFTIRQ]) * cores,
            stolen=gained[_STEAL] * cores,
            iowait_share=gained[_IOWAIT] / total,
        )


def _sums(stat: bytes, cpus: frozenset[int]) -> list[int] | None:
    sums = [0] * _COUNTED_COLUMNS
    for line in stat.splitlines():
        name, _, numbers = line.partition(b" ")
        if not name.startswith(b"cpu"):
            break
        if not name[3:].isdigit() or int(name[3:]) not in cpus:
            continue
        for column, number in enumerate(whole_numbers(numbers.split()[:_COUNTED_COLUMNS])):
            sums[column] += number
    return sums if any(sums) else None


class RunCpuClock:
    """Cores busy with a set of processes that come and go, and with their ended children."""

    def __init__(self) -> None:
        self._hz = os.sysconf("SC_CLK_TCK")
        self._before: ProcessTable = {}
        self._at_s: float | None = None

    def cores(self, table: ProcessTable, now_s: float) -> float | None:
        """Return cores busy since the last call; None at the first one.

        Args:
            table: the run's processes as they are.
            now_s: when they were read, in seconds since boot.
        """
        before, at_s = self._before, self._at_s
        self._before, self._at_s = table, now_s
        if at_s is None or now_s <= at_s:
            return None
        return _gained(before, table, at_s * self._hz) / self._hz / (now_s - at_s)


_NO_TIME = (0, 0)


def _times(reading: ProcessReading) -> tuple[int, int]:
    return reading.own_ticks, reading.own_ticks + reading.children_ticks


def _gained(before: ProcessTable, now: ProcessTable, at_ticks: float) -> int:
    own = whole = 0
    for key, reading in now.items():
        new = _times(reading)
        old = _past_of(key, before, at_ticks, new)
        own += new[0] - old[0]
        whole += new[1] - old[1]
    # The time of a child that ended moves to its parent's account: what was counted before comes off.
    # Where nobody of ours waited for it, the survivors' own time is the best that is known.
    ended = sum(_times(reading)[1] for key, reading in before.items() if key not in now)
    return max(own, whole - ended, 0)


def _past_of(key: ProcessKey, before: ProcessTable, at_ticks: float, new: tuple[int, int]) -> tuple[int, int]:
    known = before.get(key)
    if known is not None:
        return _times(known)
    # A process seen for the first time but older than the last reading brings no past with it.
    return _NO_TIME if key[1] >= at_ticks else new
