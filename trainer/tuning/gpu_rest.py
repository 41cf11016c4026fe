"""Waits until the memory of the GPUs is free again: else a trial fails for want of what the last one held.

What others hold is not known, so the first wait is for memory that falls no more; what is left then is the
level to which every later wait comes back.
"""

import sys
import time
from collections.abc import Callable, Sequence

from perftui.trainer.telemetry.gpu import GpuTelemetry

PATIENCE_S = 60.0
_UNREADABLE_S = 10.0
_BETWEEN_S = 1.2
_POLL_S = 0.1
_STEADY_MIB = 50.0
_ABOVE_MIB = 200.0


class MemoryLevel:
    """Judges readings of used memory (MiB by UUID), taken about a second apart. Pure."""

    def __init__(self) -> None:
        self._base: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def begin(self) -> None:
        """A new wait begins."""
        self._last = {}

    def is_free(self, used: dict[str, float]) -> bool:
        """Take a reading; True when the memory is free."""
        if all(uuid in self._base for uuid in used):
            return self.excess(used) <= _ABOVE_MIB
        last, self._last = self._last, used
        steady = all(uuid in last and abs(last[uuid] - mib) <= _STEADY_MIB for uuid, mib in used.items())
        if steady:
            self._base = {**used, **self._base}
        return steady

    def excess(self, used: dict[str, float]) -> float:
        """Return by how much the fullest GPU lies above its level."""
        return max((mib - self._base.get(uuid, mib) for uuid, mib in used.items()), default=0.0)


class GpuRest:
    """Waits before each trial of one comparison."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._level = MemoryLevel()

    def wait(self, uuids: Sequence[str], cancelled: Callable[[], bool]) -> str | None:
        """Wait for these GPUs, at most a minute; return a line when memory is still held then."""
        if not uuids:
            return None
        telemetry = GpuTelemetry(self._host, sys.executable)
        try:
            telemetry.watch({uuid: [] for uuid in uuids})
            return self._wait(telemetry, cancelled)
        finally:
            telemetry.close()

    def _wait(self, telemetry: GpuTelemetry, cancelled: Callable[[], bool]) -> str | None:
        self._level.begin()
        began, taken_at, used = time.monotonic(), 0.0, dict[str, float]()
        while not cancelled() and (now := time.monotonic()) - began < PATIENCE_S:
            known = {v.uuid: v.memory_used_mib for v in telemetry.poll() if v.memory_used_mib is not None}
            if known and now - taken_at >= _BETWEEN_S:
                taken_at, used = now, known
                if self._level.is_free(used):
                    return None
            if not used and (telemetry.note is not None or now - began > _UNREADABLE_S):
                return None  # without NVML there is nothing to wait for
            time.sleep(_POLL_S)
        excess = self._level.excess(used)
        return f"{excess:.0f} MiB of GPU memory are still held by something" if excess > _ABOVE_MIB else None
