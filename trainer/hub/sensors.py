"""The hub's own senses: the host each second, the GPUs that ranks use, and which processes are the run's."""

import sys
import time

import msgspec

from perftui.ipc.view import GpuView, HostView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.host import HostSampler
from perftui.trainer.telemetry.proc_files import boot_seconds
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.run_members import RunMembers
from perftui.trainer.telemetry.worker_kin import RankProcess, names_workers


class Sensors:
    """Reads once a second; never blocks for long."""

    def __init__(self, run_id: str, host: str) -> None:
        self._members = RunMembers(run_id)
        self._host = HostSampler(host)
        self._gpu: GpuTelemetry | None = None
        self._host_name = host

    def read(self, fold: RunFold) -> tuple[list[HostView], list[GpuView]]:
        """Return this second's readings."""
        began = time.thread_time()
        members = self._members.read(boot_seconds())
        ranks = [_rank_process(track) for track in fold.ordered if self._is_here(track)]
        host = self._host.read(members, ranks, time.thread_time() - began)
        gpus = self._read_gpus(fold)
        note = self._gpu.note if self._gpu else None
        if note:
            host = msgspec.structs.replace(host, gpu_note=note)
        return [host], gpus

    def _is_here(self, track: RankTrack) -> bool:
        return track.hello.host == self._host_name and not (track.ended or track.gone)

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


def _rank_process(track: RankTrack) -> RankProcess:
    hello, loader = track.hello, track.loader
    return RankProcess(
        rank=hello.rank,
        pid=hello.pid,
        start_ticks=hello.start_ticks,
        names_workers=names_workers(hello.torch),
        told=tuple(loader.worker_pids) if loader else (),
        has_workers=loader.num_workers > 0 if loader else None,
    )
