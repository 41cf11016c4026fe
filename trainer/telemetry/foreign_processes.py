"""Which processes on a GPU are not the run's: somebody else's work there slows the training.

A driver names processes by the pids of the host. In a container these mean nothing: then none of the run's
own processes is among them, and nothing can be said.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from perftui.ipc.view import GpuProcess
from perftui.trainer.telemetry.gpu_readings import DriverProcess
from perftui.trainer.telemetry.gpu_view import Foreigners
from perftui.trainer.telemetry.processes import is_tagged, process_stat

UNKNOWN = "unknown: the driver's process ids are not those seen here (a container's PID namespace)"
_GENERATIONS_MAX = 64
_SERVERS = frozenset({"nvidia-cuda-mps"})
"""They work for others: under MPS the server is listed beside the ranks that it serves."""


@dataclass(frozen=True)
class OwnProcesses:
    """Who belongs to a run: its known processes, what they started, and what carries its tag."""

    run_id: str
    pids: frozenset[int]
    _verdicts: dict[tuple[int, int], bool] = field(default_factory=dict[tuple[int, int], bool])

    def owns(self, pid: int) -> bool:
        """Whether a process is the run's; judged once for each process."""
        if pid in self.pids:
            return True
        stat = process_stat(pid)
        if stat is None:
            return False
        key = (pid, stat.start_ticks)
        if key not in self._verdicts:
            self._verdicts[key] = is_tagged(pid, self.run_id) or self._descends(stat.parent)
        return self._verdicts[key]

    def _descends(self, pid: int) -> bool:
        for _ in range(_GENERATIONS_MAX):
            if pid in self.pids:
                return True
            stat = process_stat(pid)
            if stat is None or pid <= 1:
                return False
            pid = stat.parent
        return False


def foreigners_among(
    listed: Iterable[DriverProcess], rank_pids: Iterable[int], own: OwnProcesses
) -> Foreigners:
    """Return the processes on a GPU that are not the run's.

    Args:
        listed: as the driver names them.
        rank_pids: the ranks that use this GPU: the list is of our namespace if one of them is on it.
        own: tells the run's processes.
    """
    listed = list(listed)
    if not {process.pid for process in listed} & set(rank_pids):
        return Foreigners(None, UNKNOWN if listed else "the driver lists no process at all, not even ours")
    foreign = [
        GpuProcess(pid=process.pid, name=_name_of(process.pid), memory_mib=process.memory_mib)
        for process in listed
        if not own.owns(process.pid)
    ]
    return Foreigners([process for process in foreign if process.name not in _SERVERS])


def _name_of(pid: int) -> str | None:
    stat = process_stat(pid)
    return None if stat is None else stat.name
