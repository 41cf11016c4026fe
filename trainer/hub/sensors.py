"""The hub's own senses: the host each second, the GPUs that ranks use, and which processes are the run's."""

import sys
import time

import msgspec

from perftui.ipc.view import GpuView, HostView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.host import HostSampler
from perftui.trainer.telemetry.processes import start_ticks, tagged_pids

_SCAN_S = 5.0


class Sensors:
    """Reads once a second; never blocks for long."""

    def __init__(self, run_id: str, host: str) -> None:
        self._run_id = run_id
        self._host = HostSampler(host)
        self._gpu: GpuTelemetry | None = None
        self._host_name = host
        self._pids: set[int] = set()
        self._scanned = -_SCAN_S

    def read(self, fold: RunFold) -> tuple[list[HostView], list[GpuView]]:
        """Return this second's readings."""
        now = time.monotonic()
        if now - self._scanned >= _SCAN_S:
            self._scanned = now
            self._pids = set(tagged_pids(self._run_id)) | {t.hello.pid for t in fold.ordered}
        host = self._host.read(self._pids)
        gpus = self._read_gpus(fold)
        note = self._gpu.note if self._gpu else None
        if note:
            host = msgspec.structs.replace(host, gpu_note=note)
        return [host], gpus

    def _read_gpus(self, fold: RunFold) -> list[GpuView]:
        wanted = fold.uuid_to_ranks()
        if not wanted:
            return []
        if self._gpu is None:
            self._gpu = GpuTelemetry(self._host_name, sys.executable)
        self._gpu.watch(wanted)
        return self._gpu.poll()

    def mark_gone(self, fold: RunFold) -> None:
        """Mark ranks whose process has disappeared."""
        for track in fold.ordered:
            if not track.ended and track.hello.host == self._host_name:
                track.gone = start_ticks(track.hello.pid) != track.hello.start_ticks

    def close(self) -> None:
        """End the GPU sampler."""
        if self._gpu is not None:
            self._gpu.close()
