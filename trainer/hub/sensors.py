"""The hub's own senses: the host each second, the GPUs that ranks use, and which processes are the run's."""

import time

import msgspec

from perftui.ipc.run_files import RunDescription
from perftui.ipc.view import GpuView, HostView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.gpu_sense import GpuSense
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.seen_processes import pid_means_process
from perftui.trainer.telemetry.host import HostSampler
from perftui.trainer.telemetry.proc_files import boot_seconds
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.run_members import RunMembers
from perftui.trainer.telemetry.worker_kin import RankProcess, names_workers


class Sensors:
    """Reads once a second; never blocks for long."""

    def __init__(self, description: RunDescription) -> None:
        self._members = RunMembers(description.run_id)
        self._host = HostSampler(description.host)
        self._gpu = GpuSense(description)
        self._host_name = description.host

    def read(self, fold: RunFold) -> tuple[list[HostView], list[GpuView]]:
        """Return this second's readings."""
        began = time.thread_time()
        members = self._members.read(boot_seconds())
        ranks = [_rank_process(track) for track in fold.ordered if self._is_here(track)]
        host = self._host.read(members, ranks, time.thread_time() - began)
        own_pids = {*members, *(track.hello.pid for track in fold.ordered)}
        gpus = self._gpu.read(fold.gpu_users(self._host_name), own_pids)
        if self._gpu.note:
            host = msgspec.structs.replace(host, gpu_note=self._gpu.note)
        return [host], gpus

    def _is_here(self, track: RankTrack) -> bool:
        return self._sees(track) and not (track.ended or track.gone)

    def _sees(self, track: RankTrack) -> bool:
        """Tell whether a rank's pid means its process here."""
        return pid_means_process(track.hello, self._host_name)

    def mark_gone(self, fold: RunFold) -> None:
        """Mark ranks whose process has disappeared."""
        for track in fold.ordered:
            if not track.ended and self._sees(track):
                track.gone = start_ticks(track.hello.pid) != track.hello.start_ticks

    def close(self) -> None:
        """End the GPU sampler."""
        self._gpu.close()


def _rank_process(track: RankTrack) -> RankProcess:
    hello, loader = track.hello, track.loader
    return RankProcess(
        rank=hello.rank,
        pid=hello.pid,
        start_ticks=hello.start_ticks,
        names_workers=names_workers(hello.torch),
        told=tuple(zip(loader.worker_pids, loader.worker_start_ticks, strict=False)) if loader else (),
        has_workers=loader.num_workers > 0 if loader else None,
    )
