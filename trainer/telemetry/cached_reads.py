"""What share of a loader's reads the page cache answered: an estimate, or a reason why there is none.

The kernel does not tell. It counts, per process, the bytes of read calls (from anywhere: files in the cache,
pipes, sockets) and the bytes that storage delivered (for read calls, for mapped files, and read ahead of
need). One minus their ratio is the cache's share as long as a loader reads files by calls. Only loaders
count: workers, and ranks that have none; a rank with workers reads batches from a pipe. Where it is plain
that the ratio says nothing, nothing is said. Pure.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.process_io import IoReading

_READINGS = 5
_LEAST_BYTES = MIB
_AHEAD = 1.05
_COUNTED_IN_PART = ("9p", "afs", "beegfs", "ceph", "fuse", "gpfs", "lustre", "orangefs", "virtiofs", "wekafs")
_HARMLESS = ("fusectl", "fuse.gvfsd-fuse", "fuse.lxcfs", "fuse.portal", "fuse.snapfuse")


@dataclass(frozen=True)
class CachedShare:
    """A share (0-1), or why there is none."""

    share: float | None
    reason: str = ""


class CachedReads:
    """Sums over the last readings: storage delivers in bursts."""

    def __init__(self) -> None:
        self._recent: deque[IoReading] = deque(maxlen=_READINGS)

    def add(self, loaders: IoReading | None) -> None:
        """Take in what loaders read since the reading before; None: not known, which breaks the sum."""
        if loaders is None:
            self._recent.clear()
        else:
            self._recent.append(loaders)

    def share(self, foreign: str | None) -> CachedShare:
        """Return the estimate over the last readings.

        Args:
            foreign: a mounted file system whose reads the kernel may not count as storage, or None.
        """
        called = sum(each.called for each in self._recent)
        stored = sum(each.from_storage for each in self._recent)
        if max(called, stored) < _LEAST_BYTES:
            return CachedShare(None, "loaders read less than 1 MiB in ten seconds")
        if stored > called * _AHEAD:
            return CachedShare(
                None, "storage delivered more than read calls asked for: mapped files, or reading ahead"
            )
        if stored == 0 and foreign is not None:
            return CachedShare(None, f"reads of a mounted file system ({foreign}) may not be counted")
        return CachedShare(max(0.0, 1 - stored / called))


def uncounted_file_system(mountinfo: str) -> str | None:
    """Return the type of a mounted file system whose reads may not show as storage reads; None without."""
    return next((kind for kind in _kinds(mountinfo) if _may_not_count(kind)), None)


def _kinds(mountinfo: str) -> Iterable[str]:
    for line in mountinfo.splitlines():
        words = line.partition(" - ")[2].split()
        if words:
            yield words[0]


def _may_not_count(kind: str) -> bool:
    return kind.startswith(_COUNTED_IN_PART) and kind not in _HARMLESS
