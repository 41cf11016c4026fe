"""What the sensors read over the whole run: hosts, GPUs, and the loader workers of each rank."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from perftui.ipc.view import GpuView, HostView, LoaderWorkers
from perftui.trainer.hub.reading_log import ReadingLog

Unit: TypeAlias = Literal["share", "cores", "MiB", "W"]
_WORKERS_PERIOD_S = 12.0
"""A recording has single workers every tenth second."""


class Figure(NamedTuple):
    """A figure that is kept over time."""

    field: str
    unit: Unit


GPU_FIGURES = (
    Figure("sm_active_share", "share"),
    Figure("graphics_share", "share"),
    Figure("tensor_active_share", "share"),
    Figure("dram_active_share", "share"),
    Figure("memory_used_mib", "MiB"),
    Figure("power_w", "W"),
)
HOST_FIGURES = (
    Figure("run_busy", "cores"),
    Figure("others_busy", "cores"),
    Figure("pressure_share", "share"),
    Figure("memory_used_mib", "MiB"),
)
WORKER_FIGURES = (
    Figure("cpu_share", "cores"),
    Figure("cpu_wait_share", "share"),
    Figure("blocked_share", "share"),
)


class Readings:
    """Bounded logs by host, by GPU (UUID) and by rank."""

    def __init__(self) -> None:
        self.hosts: dict[str, ReadingLog] = {}
        self.gpus: dict[str, ReadingLog] = {}
        self.workers: dict[int, ReadingLog] = {}

    def hear_hosts(self, hosts: Sequence[HostView], unix: float) -> None:
        """Take one reading of each host in."""
        for view in hosts:
            _log(self.hosts, view.name, HOST_FIGURES).add(unix, _values(view, HOST_FIGURES))

    def hear_gpus(self, gpus: Sequence[GpuView], unix: float) -> None:
        """Take one reading of each GPU in."""
        for view in gpus:
            _log(self.gpus, view.uuid, GPU_FIGURES).add(unix, _values(view, GPU_FIGURES))

    def hear_workers(self, rank: int, look: LoaderWorkers | None, unix: float) -> None:
        """Take one look at a rank's loader workers in; None: there are none."""
        if look is not None and look.count:
            if rank not in self.workers:
                self.workers[rank] = ReadingLog([each.field for each in WORKER_FIGURES], _WORKERS_PERIOD_S)
            self.workers[rank].add(unix, _values(look, WORKER_FIGURES))


def _log(logs: dict[str, ReadingLog], key: str, figures: Sequence[Figure]) -> ReadingLog:
    if key not in logs:
        logs[key] = ReadingLog([each.field for each in figures])
    return logs[key]


def _values(view: GpuView | HostView | LoaderWorkers, figures: Sequence[Figure]) -> list[float | None]:
    return [getattr(view, each.field) for each in figures]
