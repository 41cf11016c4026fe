"""What the run's processes read and write, and how much of what its loaders read the page cache answered."""

import os
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.cached_reads import CachedReads
from perftui.trainer.telemetry.process_io import IoReading, growth, read_io, total, why_no_io
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessTable


@dataclass(frozen=True)
class RunTraffic:
    """Since the reading before, in MiB a second; None with a reason in `missing`."""

    read_mib_s: float | None = None
    storage_read_mib_s: float | None = None
    storage_write_mib_s: float | None = None
    cached_read_share: float | None = None
    missing: dict[str, str] = field(default_factory=dict)


class RunReads:
    """Follows /proc/PID/io of every process of the run; used by one thread."""

    def __init__(self, root: Path) -> None:
        self._proc = root / "proc"
        self._hz = os.sysconf("SC_CLK_TCK")
        self._cached = CachedReads()
        self._table: ProcessTable = {}
        self._at_s: float | None = None
        self.readings: dict[ProcessKey, IoReading] = {}
        """The newest reading of each process, as far as it may be read."""

    def read(
        self, table: ProcessTable, loaders: Set[ProcessKey], uncounted: str | None, now_s: float
    ) -> RunTraffic:
        """Return what was read and written since the last call.

        Args:
            table: the run's processes.
            loaders: those of them that read samples: workers, and ranks that have none.
            uncounted: a mounted file system whose reads may not be counted as storage reads.
            now_s: when the table was read, in seconds since boot.
        """
        before, table_before, at_s = self.readings, self._table, self._at_s
        self.readings = self._read_all(table)
        self._table, self._at_s = table, now_s
        unreadable = [key for key in table if key not in self.readings and not table[key].ended]
        if unreadable:
            self._cached.add(None)
            return nothing(self._why(unreadable, len(table)))
        if at_s is None or now_s <= at_s:
            return nothing("needs two readings")
        grown = growth(before, self.readings, table_before, at_s * self._hz)
        self._cached.add(total(each for key, each in grown.items() if key in loaders))
        cached = self._cached.share(uncounted)
        run, span_s = total(grown.values()), now_s - at_s
        return RunTraffic(
            read_mib_s=run.called / MIB / span_s,
            storage_read_mib_s=run.from_storage / MIB / span_s,
            storage_write_mib_s=run.to_storage / MIB / span_s,
            cached_read_share=cached.share,
            missing={} if cached.share is not None else {"cached_read_share": cached.reason},
        )

    def _read_all(self, table: ProcessTable) -> dict[ProcessKey, IoReading]:
        found: dict[ProcessKey, IoReading] = {}
        for key, reading in table.items():
            io = read_io(self._proc, key[0])
            if io is None and reading.ended:
                io = self.readings.get(key)  # nobody's yet: not its parent's either
            if io is not None:
                found[key] = io
        return found

    def _why(self, unreadable: list[ProcessKey], processes: int) -> str:
        why = why_no_io(self._proc, unreadable[0][0])
        return f"{why} ({len(unreadable)} of {processes} processes)"


def nothing(reason: str) -> RunTraffic:
    """Return that nothing is known, and why."""
    names = ("run_read_mib_s", "run_storage_read_mib_s", "run_storage_write_mib_s", "cached_read_share")
    return RunTraffic(missing=dict.fromkeys(names, reason))
