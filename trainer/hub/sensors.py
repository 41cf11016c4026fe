"""The hub's own senses: the host each second, the GPUs that ranks use, and which processes are the run's."""

import time

import msgspec

from perftui.ipc.run_files import RunDescription
from perftui.ipc.view import GpuView, HostView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.gpu_sense import GpuSense
from perftui.trainer.telemetry.host import HostSampler
from perftui.trainer.telemetry.processes import start_ticks, tagged_pids

_SCAN_S = 5.0


class Sensors:
    """Reads once a second; never blocks for long."""

    def __init__(self, description: RunDescription) -> None:
        self._run_id = description.run_id
        self._host = HostSampler(description.host)
        self._gpu = GpuSense(description)
        self._host_name = description.host
        self._pids: set[int] = set()
        self._scanned = -_SCAN_S

    def read(self, fold: RunFold) -> tuple[list[HostView], list[GpuView]]:
        """Return this second's readings."""
        now = time.monotonic()
        if now - self._scanned >= _SCAN_S:
            self._scanned = now
            self._pids = set(tagged_pids(self._run_id)) | {t.hello.pid for t in fold.ordered}
        host = self._host.read(self._pids)
        gpus = self._gpu.read(fold.gpu_users(self._host_name), self._pids)
        if self._gpu.note:
            host = msgspec.structs.replace(host, gpu_note=self._gpu.note)
        return [host], gpus

    def mark_gone(self, fold: RunFold) -> None:
        """Mark ranks whose process has disappeared."""
        for track in fold.ordered:
            if not track.ended and track.hello.host == self._host_name:
                track.gone = start_ticks(track.hello.pid) != track.hello.start_ticks

    def close(self) -> None:
        """End the GPU sampler."""
        self._gpu.close()
