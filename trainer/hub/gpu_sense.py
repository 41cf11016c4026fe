"""The GPUs that the run's ranks use: read, joined to their steps, and compared with who else is on them."""

import os
import sys
from collections.abc import Mapping, Sequence

from perftui.ipc.run_files import RunDescription
from perftui.ipc.view import GpuView
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_windows import steps_until
from perftui.trainer.hub.views import WINDOW_STEPS
from perftui.trainer.telemetry.foreign_processes import OwnProcesses, foreigners_among
from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.gpu_rates import INTERVAL_VARIABLE, interval_or_default, rates_of
from perftui.trainer.telemetry.gpu_readings import DriverProcess
from perftui.trainer.telemetry.gpu_view import Foreigners
from perftui.trainer.telemetry.sampler_supervisor import GpuTiming


class GpuSense:
    """Reads once a second; nothing is started before a rank uses a GPU."""

    def __init__(self, description: RunDescription) -> None:
        self._description = description
        self._telemetry: GpuTelemetry | None = None

    @property
    def note(self) -> str | None:
        """Why there are no figures, when there are none."""
        return None if self._telemetry is None else self._telemetry.note

    def read(self, users: Mapping[str, Sequence[RankTrack]], own_pids: set[int]) -> list[GpuView]:
        """Return the GPUs as they stand.

        Args:
            users: UUID → the ranks on that GPU.
            own_pids: processes of the run.
        """
        if self._telemetry is None:
            if not users:
                return []
            self._telemetry = self._start()
        own = OwnProcesses(self._description.run_id, frozenset(own_pids))

        def foreign_of(uuid: str, listed: list[DriverProcess]) -> Foreigners:
            return foreigners_among(listed, [track.hello.pid for track in users[uuid]], own)

        self._telemetry.watch(
            {uuid: [track.hello.rank for track in tracks] for uuid, tracks in users.items()}
        )
        steps = {uuid: steps_until(tracks, WINDOW_STEPS) for uuid, tracks in users.items()}
        return self._telemetry.poll(steps, foreign_of)

    def _start(self) -> GpuTelemetry:
        asked_s = self._description.gpu_interval_s
        if asked_s is None:
            asked_s = interval_or_default(os.environ.get(INTERVAL_VARIABLE))
        return GpuTelemetry(
            self._description.host,
            sys.executable,
            enabled=self._description.gpu_readings,
            timing=GpuTiming(rates=rates_of(asked_s)),
        )

    def close(self) -> None:
        """End the sampler."""
        if self._telemetry is not None:
            self._telemetry.close()
