"""Reads and writes of single processes (/proc/PID/io), and of the whole run over their births and deaths."""

from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import NamedTuple, TypeAlias

from perftui.trainer.telemetry.proc_files import numbers_by_name, read_line, why_unreadable
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessTable


class IoReading(NamedTuple):
    """Bytes since the process started, with those of ended children that it has waited for."""

    called: int
    """By read calls, whatever answered: storage, page cache, pipe, socket. Not by memory mapping."""
    from_storage: int
    """What this process made storage deliver, by read calls, mapping and read-ahead."""
    to_storage: int
    """What it made dirty, to be written sooner or later."""

    def less(self, other: "IoReading") -> "IoReading":
        """Return the difference of all three."""
        return IoReading(
            self.called - other.called,
            self.from_storage - other.from_storage,
            self.to_storage - other.to_storage,
        )


IoTable: TypeAlias = Mapping[ProcessKey, IoReading]
NOTHING = IoReading(0, 0, 0)


def read_io(proc: Path, pid: int) -> IoReading | None:
    """Read one process; None when that is not permitted or not kept (`why_no_io` says which)."""
    numbers = numbers_by_name(read_line(f"{proc}/{pid}/io"))
    try:
        return IoReading(numbers[b"rchar"], numbers[b"read_bytes"], numbers[b"write_bytes"])
    except KeyError:
        return None


def why_no_io(proc: Path, pid: int) -> str:
    """Return why `read_io` gave None."""
    return f"/proc/{pid}/io: {why_unreadable(f'{proc}/{pid}/io') or 'not understood'}"


def growth(
    before: IoTable, now: IoTable, table_before: ProcessTable, read_before_ticks: float
) -> dict[ProcessKey, IoReading]:
    """Return what each living process read and wrote between two readings, never negative.

    The kernel adds the counters of a child that was waited for to its parent's, so what was counted for the
    child before comes off the growth of its nearest ancestor that lives.

    Args:
        before: the earlier reading.
        now: the later one.
        table_before: the processes of the earlier reading, which know their parents.
        read_before_ticks: when that was, in clock ticks since boot.
    """
    found = {
        key: reading.less(before.get(key) or _past(key, reading, read_before_ticks))
        for key, reading in now.items()
    }
    for key in before.keys() - now.keys():
        heir = _heir(key, table_before, now.keys())
        if heir is not None:
            found[heir] = found[heir].less(before[key])
    return {key: IoReading(*(max(0, value) for value in each)) for key, each in found.items()}


def total(readings: Iterable[IoReading]) -> IoReading:
    """Return the sums of all three."""
    called = stored = written = 0
    for reading in readings:
        called += reading.called
        stored += reading.from_storage
        written += reading.to_storage
    return IoReading(called, stored, written)


def _past(key: ProcessKey, reading: IoReading, read_before_ticks: float) -> IoReading:
    return NOTHING if key[1] >= read_before_ticks else reading


def _heir(key: ProcessKey, table: ProcessTable, living: Set[ProcessKey]) -> ProcessKey | None:
    """Return the nearest ancestor of an ended process that lives."""
    by_pid = {pid: (pid, ticks) for pid, ticks in table}
    for _ in range(len(table)):
        reading = table.get(key)
        parent = by_pid.get(reading.parent) if reading else None
        if parent is None or parent in living:
            return parent
        key = parent
    return None
