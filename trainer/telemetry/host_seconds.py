"""The figures of a host that are read each second: who keeps the cores busy, and what stands still."""

from dataclasses import dataclass, field
from pathlib import Path

from perftui.ipc.host_view import Pressure
from perftui.trainer.telemetry.cpu_clocks import HostCpu, HostCpuClock, RunCpuClock
from perftui.trainer.telemetry.host_memory import SharedMemory, shared_memory
from perftui.trainer.telemetry.place import Place
from perftui.trainer.telemetry.pressure import PressureClock, average_of_10_s
from perftui.trainer.telemetry.proc_files import read_line, read_whole
from perftui.trainer.telemetry.process_table import ProcessTable
from perftui.trainer.telemetry.throttling import ThrottleClock, Throttling

_TWO = "needs two readings"
HIDDEN = "none of the run's processes can be read in /proc"
_NO_PRESSURE = "this kernel keeps no pressure figures (/proc/pressure)"


@dataclass(frozen=True)
class SecondReading:
    """Each figure is None where it is not known; the reason is in `missing` under its name in `HostView`."""

    cpu: HostCpu | None
    run_busy: float | None
    others_busy: float | None
    load_1m: float | None
    runnable: int | None
    throttling: Throttling | None
    pressure_share: float | None
    pressure: dict[str, Pressure]
    shm: SharedMemory | None
    hidden: bool
    """There are processes of the run of which not one could ever be read."""
    missing: dict[str, str] = field(default_factory=dict)


class SecondSampler:
    """Used by one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._host_cpu = HostCpuClock(frozenset())
        self._run_cpu = RunCpuClock()
        self._throttle = ThrottleClock()
        self._pressure = PressureClock(root)
        self._readings = 0
        self._seen: set[int] = set()

    def read(self, place: Place, members: set[int], table: ProcessTable, now_s: float) -> SecondReading:
        """Return what happened since the last call.

        Args:
            place: the CPUs and groups that count.
            members: pids of the run as far as they are known.
            table: the run's processes that could be read.
            now_s: when they were, in seconds since boot.
        """
        self._readings += 1
        if place.cpus != self._host_cpu.cpus:
            self._host_cpu = HostCpuClock(place.cpus)
        cpu = self._host_cpu.take(read_whole(str(self._root / "proc/stat")))
        run_busy = self._run_cpu.cores(table, now_s)
        hidden = self._is_hidden(members, table)
        if hidden:
            run_busy = None
        load_1m, runnable = _load(read_line(str(self._root / "proc/loadavg")))
        reading = SecondReading(
            cpu=cpu,
            run_busy=run_busy,
            others_busy=None if cpu is None or run_busy is None else max(0.0, cpu.busy - run_busy),
            load_1m=load_1m,
            runnable=runnable,
            throttling=self._throttle.read(place.limited, now_s),
            pressure_share=average_of_10_s(read_line(str(self._root / "proc/pressure/cpu"))),
            pressure=self._pressure.read(place.pressure, cpu.iowait_share if cpu else None, now_s),
            shm=shared_memory(self._root),
            hidden=hidden,
        )
        reading.missing.update(self._reasons(reading, place))
        return reading

    def _is_hidden(self, members: set[int], table: ProcessTable) -> bool:
        self._seen = {pid for pid, _ in table} | (self._seen & members)
        return bool(members) and not self._seen

    def _reasons(self, reading: SecondReading, place: Place) -> dict[str, str]:
        first = self._readings < 2
        no_cpu = _TWO if self._host_cpu.counted else "/proc/stat tells nothing of the run's CPUs"
        no_run = HIDDEN if reading.hidden else _TWO
        missing: dict[str, str] = {}
        if reading.cpu is None:
            missing.update(dict.fromkeys(("cpu_busy", "system_busy", "stolen"), no_cpu))
        if reading.run_busy is None:
            missing["run_busy"] = no_run
        if reading.hidden:
            missing["run_processes"] = missing["run_threads"] = HIDDEN
        if reading.others_busy is None:
            missing["others_busy"] = no_cpu if reading.cpu is None else no_run
        if reading.runnable is None:
            missing["load_1m"] = missing["runnable"] = "/proc/loadavg cannot be read"
        if reading.throttling is None:
            why = _TWO if place.limited and first else "its group tells nothing (cpu.stat)"
            why = why if place.limited else "no CPU quota is to be seen"
            missing["throttled_share"] = missing["throttled_cores"] = why
        if reading.pressure_share is None:
            missing["pressure_share"] = _NO_PRESSURE
        for resource in ("cpu", "memory", "io"):
            if resource not in reading.pressure:
                known = resource in self._pressure.counted or (first and resource == "io")
                missing[f"pressure_{resource}"] = _TWO if known else _NO_PRESSURE
        if reading.shm is None:
            missing["shm_free_mib"] = missing["shm_total_mib"] = "no /dev/shm"
        return missing


def _load(text: bytes) -> tuple[float | None, int | None]:
    """Return the load average over a minute, and tasks that run or are ready to."""
    words = text.split()
    try:
        return float(words[0]), int(words[3].partition(b"/")[0])
    except (IndexError, ValueError):
        return None, None
