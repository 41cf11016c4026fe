"""Which processes are a loader's workers: their pids, noted when an iterator is made, and their start times.

Only pids are kept, never the iterator: it must end its workers in the thread that drops it.
"""

from pathlib import Path
from typing import NamedTuple

from perftui.trainer.probe.border import Foreign

LOADERS_TOLD = 16
"""Of so many loaders more is told than how they are set: workers, batches, read-ahead, turns."""
_WORKERS_KEPT = 1024


class ToldWorkers(NamedTuple):
    """Workers of one iterator in the order of their numbers."""

    pids: list[int]
    start_ticks: list[int]
    """Field 22 of /proc/PID/stat; 0 for one that had ended before it could be read."""


class WorkerPids:
    """Filled by the training thread, read by the agent's."""

    def __init__(self) -> None:
        self._pids: dict[int, list[int]] = {}
        self._told: dict[int, ToldWorkers] = {}

    def note(self, key: int, iterator: Foreign) -> None:
        """A loader has made an iterator, or goes on with one.

        Args:
            key: of the loader.
            iterator: torch's; its list of workers is private, and where there is none nothing is told.
        """
        workers = vars(iterator).get("_workers") or ()
        self._pids.pop(key, None)  # the newest last
        self._pids[key] = [worker.pid for worker in workers[:_WORKERS_KEPT]]
        if len(self._pids) > LOADERS_TOLD:
            del self._pids[next(iter(self._pids))]

    def pids(self, key: int) -> list[int]:
        """Return the pids of the workers of a loader's newest iterator; none where it has none."""
        return self._pids.get(key, [])

    def read(self, key: int) -> ToldWorkers:
        """Return the workers of a loader's newest iterator; none where it has none."""
        pids = self.pids(key)
        told = self._told.get(key)
        if told is None or told.pids != pids:
            told = self._told[key] = ToldWorkers(pids, [_start_ticks(pid) for pid in pids])
            for other in [other for other in self._told if other not in self._pids and other != key]:
                del self._told[other]
        return told


def _start_ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])
