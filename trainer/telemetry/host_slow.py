"""The figures of a host that are read less often: memory, paging, disks, network, reads, loader workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perftui.ipc.host_view import WorkerView
from perftui.trainer.telemetry.host_memory import MemoryUse, OomKillClock, Paging, PagingClock, memory_use
from perftui.trainer.telemetry.place import Place
from perftui.trainer.telemetry.proc_files import read_line
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, ProcessTable
from perftui.trainer.telemetry.run_reads import RunReads, RunTraffic, nothing
from perftui.trainer.telemetry.traffic import DiskClock, DiskTraffic, NetworkClock, NetworkTraffic
from perftui.trainer.telemetry.worker_kin import RankProcess, find_workers
from perftui.trainer.telemetry.worker_sampler import WorkerSampler

_TWO = "needs two readings"
_PAGING = ("swap_in_mib_s", "swap_out_mib_s", "refault_mib_s")
_NO_PAGING = "/proc/vmstat does not tell"
_OWN_COMMAND_S = 1.0
"""Between `fork` and `exec` a process still shows its parent's command line."""


@dataclass(frozen=True)
class SlowReading:
    """Each figure is None where it is not known; the reason is in `missing` under its name in `HostView`."""

    memory: MemoryUse
    paging: Paging
    oom_kills: int | None
    disks: DiskTraffic | None
    network: NetworkTraffic | None
    run: RunTraffic
    workers: list[WorkerView]
    missing: dict[str, str] = field(default_factory=dict)


class SlowSampler:
    """Used by one thread."""

    def __init__(self, root: Path, workers: WorkerSampler, hz: int) -> None:
        self._proc = str(root / "proc")
        self._root = root
        self._hz = hz
        self._paging = PagingClock(root)
        self._disks = DiskClock(root)
        self._network = NetworkClock(root)
        self._reads = RunReads(root)
        self._workers = workers
        self._kills = OomKillClock()
        self._commands: dict[ProcessKey, bytes] = {}
        self._readings = 0

    def read(
        self,
        place: Place,
        table: ProcessTable,
        ranks: Sequence[RankProcess],
        hidden: str | None,
        now_s: float,
    ) -> SlowReading:
        """Return what happened since the last call.

        Args:
            place: the groups that count.
            table: the run's processes that could be read.
            ranks: those of them that are ranks.
            hidden: why no process of the run can be read, if that is so.
            now_s: when the table was read, in seconds since boot.
        """
        self._readings += 1
        found = find_workers(table, {rank.pid: rank for rank in ranks}, self._command_getter(table, now_s))
        served = {kin.rank for kin in found.values()}
        loaders = {(rank.pid, rank.start_ticks) for rank in ranks if rank.rank not in served} | found.keys()
        run = self._reads.read(table, loaders, place.uncounted, now_s)
        run = nothing(hidden) if hidden else run
        reading = SlowReading(
            memory=memory_use(self._root, place.memory),
            paging=self._paging.read(place.memory, now_s),
            oom_kills=self._kills.read(place.memory),
            disks=self._disks.read(now_s),
            network=self._network.read(now_s),
            run=run,
            workers=self._workers.sweep(table, found, self._reads.readings, now_s),
        )
        reading.missing.update(_reasons(reading, self._paging.counted, first=self._readings < 2))
        return reading

    def _command_getter(self, table: ProcessTable, now_s: float) -> "_Commands":
        self._commands = {key: command for key, command in self._commands.items() if key in table}
        return _Commands(self._proc, self._commands, (now_s - _OWN_COMMAND_S) * self._hz)


class _Commands:
    """Command lines, read once: they lie in the memory of the process, which may be slow to answer."""

    def __init__(self, proc: str, known: dict[ProcessKey, bytes], settled_ticks: float) -> None:
        self._proc = proc
        self._known = known
        self._settled_ticks = settled_ticks

    def __call__(self, reading: ProcessReading) -> bytes | None:
        if reading.start_ticks > self._settled_ticks:
            return None
        command = self._known.get(reading.key)
        if command is None:
            command = self._known[reading.key] = read_line(f"{self._proc}/{reading.pid}/cmdline")
        return command


def _reasons(reading: SlowReading, counted: frozenset[str], *, first: bool) -> Mapping[str, str]:
    missing = dict(reading.run.missing)
    memory, paging, disks = reading.memory, reading.paging, reading.disks
    each: dict[str, tuple[object, str]] = {
        "memory_total_mib": (memory.total_mib, "/proc/meminfo cannot be read"),
        "memory_used_mib": (memory.used_mib, "neither /proc/meminfo nor the cgroup says"),
        "memory_scope": (memory.scope, "/proc/meminfo cannot be read"),
        "swap_used_mib": (memory.swap_used_mib, "/proc/meminfo cannot be read"),
        "oom_kills": (reading.oom_kills, "the run's cgroup does not count them"),
        **{name: (getattr(paging, name), _TWO if name in counted else _NO_PAGING) for name in _PAGING},
        "disk_read_mib_s": (disks, _TWO if first else "no block device in /proc/diskstats"),
        "disk_read_ms": (disks and disks.read_ms, "no read was completed"),
        "network_in_mib_s": (reading.network, _TWO if first else "no network interface in /proc/net/dev"),
    }
    missing.update({name: reason for name, (value, reason) in each.items() if value is None})
    if disks is None:
        reason = missing["disk_read_mib_s"]
        missing.update(dict.fromkeys(("disk_write_mib_s", "disk_read_ms", "disk_busy_share"), reason))
    if reading.network is None:
        missing["network_out_mib_s"] = missing["network_in_mib_s"]
    return missing
