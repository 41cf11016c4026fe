"""The host as the training feels it: usable cores, who keeps them busy, memory, disks, loader workers.

Read once a second by the hub; what costs more is read every other second, and more rarely still where it
would take too much of a core. A reading is file reads and no subprocess.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from perftui.ipc.host_view import HostView, Pressure
from perftui.trainer.telemetry.cgroups import cpu_quota
from perftui.trainer.telemetry.host_seconds import HIDDEN, SecondReading, SecondSampler
from perftui.trainer.telemetry.host_slow import SlowReading, SlowSampler
from perftui.trainer.telemetry.pace import OwnCost, Pace
from perftui.trainer.telemetry.place import Place, PlaceFinder, affinity_of
from perftui.trainer.telemetry.proc_files import boot_seconds, read_line
from perftui.trainer.telemetry.process_table import ProcessTable, read_table
from perftui.trainer.telemetry.worker_kin import RankProcess
from perftui.trainer.telemetry.worker_sampler import WorkerSampler

SLOW_S = 2.0
_SLOW_SHARE = 0.005
"""Of a core, for what is read every other second: beyond it that becomes rarer."""
_NO_DELAYS = "the kernel does not account for it (kernel.task_delayacct)"


def effective_cpus(root: Path = Path("/")) -> float:
    """Return the cores this process can really use: the affinity mask, or a lower cgroup quota.

    A quota may be a fraction (1.5): it is CPU time per time, not a number of threads.
    """
    allowed = float(len(os.sched_getaffinity(0)))
    quota = cpu_quota(root)
    return allowed if quota is None else min(allowed, quota)


def _unplaced(place: Place) -> dict[str, str]:
    reasons = {
        "cpus_online": (place.online, "/sys/devices/system/cpu/online cannot be read"),
        "gpus_present": (place.gpus, "/sys/class cannot be read"),
    }
    return {name: reason for name, (value, reason) in reasons.items() if value is None}


class HostSampler:
    """Readings of one host; used by one thread.

    Args:
        host: its name.
        root: where /proc, /sys and /dev are looked for.
        clock: seconds since boot.
        affinity: the CPUs that a process may use; None when it is gone.
    """

    def __init__(
        self,
        host: str,
        root: Path = Path("/"),
        clock: Callable[[], float] = boot_seconds,
        affinity: Callable[[int], frozenset[int] | None] = affinity_of,
    ) -> None:
        self._host = host
        self._proc = root / "proc"
        self._clock = clock
        self._places = PlaceFinder(root, affinity)
        self._seconds = SecondSampler(root)
        accounts = read_line(str(root / "proc/sys/kernel/task_delayacct")).strip() == b"1"
        self._always_missing = {} if accounts else {"workers.io_wait_share": _NO_DELAYS}
        self._workers = WorkerSampler(root, affinity, accounts_io_wait=accounts)
        self._slow_sampler = SlowSampler(root, self._workers, os.sysconf("SC_CLK_TCK"))
        self._slow: SlowReading | None = None
        self._pace = Pace(SLOW_S, _SLOW_SHARE)
        self._cost = OwnCost()

    def read(
        self,
        members: Mapping[int, int | None],
        ranks: Sequence[RankProcess] = (),
        spent_s: float = 0.0,
    ) -> HostView:
        """Return the host since the last reading.

        A figure that could not be read is None, with the reason in `missing`. The workers are in it only when
        they were looked at now (`workers_age_s` is 0).

        Args:
            members: the run's processes, pid to start ticks where known; their children are found.
            ranks: those of them that are ranks.
            spent_s: CPU time that finding all these took.
        """
        began, now_s = time.thread_time(), self._clock()
        own_share = self._cost.share(now_s)
        place = self._places.find([rank.pid for rank in ranks], now_s)
        table = read_table(self._proc, {**members, **{rank.pid: rank.start_ticks for rank in ranks}})
        second = self._seconds.read(place, {*members}, table, now_s)
        self._workers.note_states(table)
        if self._pace.due(now_s):
            before_s = time.thread_time()
            hidden = HIDDEN if second.hidden else None
            self._slow = self._slow_sampler.read(place, table, ranks, hidden, now_s)
            self._pace.took(time.thread_time() - before_s)
        view = self._view(second, table, self._pace.age_s(now_s) or 0.0)
        view = msgspec.structs.replace(
            view, cpus=place.effective_cpus, cores=float(len(place.cpus)), sampler_cpu_share=own_share
        )
        view = msgspec.structs.replace(
            view,
            cpus_online=place.online,
            cpus_given=place.given,
            gpus_present=place.gpus,
            missing={**view.missing, **_unplaced(place)},
        )
        self._cost.add(now_s, spent_s + time.thread_time() - began)
        return view

    def _view(self, second: SecondReading, table: ProcessTable, slow_age_s: float) -> HostView:
        slow = self._slow
        assert slow is not None  # the first reading takes all
        cpu, throttling, shm, disks = second.cpu, second.throttling, second.shm, slow.disks
        pressure: dict[str, Pressure] = second.pressure
        living = [reading for reading in table.values() if not reading.ended]
        return HostView(
            name=self._host,
            age_s=0.0,
            cpu_busy=cpu.busy if cpu else None,
            run_busy=second.run_busy,
            others_busy=second.others_busy,
            system_busy=cpu.system if cpu else None,
            stolen=cpu.stolen if cpu else None,
            load_1m=second.load_1m,
            runnable=second.runnable,
            throttled_share=throttling.share if throttling else None,
            throttled_cores=throttling.cores if throttling else None,
            pressure_share=second.pressure_share,
            pressure_cpu=pressure.get("cpu"),
            pressure_memory=pressure.get("memory"),
            pressure_io=pressure.get("io"),
            run_processes=None if second.hidden else len(living),
            run_threads=None if second.hidden else sum(reading.threads for reading in living),
            shm_free_mib=shm.free_mib if shm else None,
            shm_total_mib=shm.total_mib if shm else None,
            slow_age_s=slow_age_s,
            memory_used_mib=slow.memory.used_mib,
            memory_total_mib=slow.memory.total_mib,
            memory_scope=slow.memory.scope,
            oom_kills=slow.oom_kills,
            swap_used_mib=slow.memory.swap_used_mib,
            swap_in_mib_s=slow.paging.swap_in_mib_s,
            swap_out_mib_s=slow.paging.swap_out_mib_s,
            refault_mib_s=slow.paging.refault_mib_s,
            disk_read_mib_s=disks.read_mib_s if disks else None,
            disk_write_mib_s=disks.write_mib_s if disks else None,
            disk_read_ms=disks.read_ms if disks else None,
            disk_busy_share=disks.busy_share if disks else None,
            network_in_mib_s=slow.network.in_mib_s if slow.network else None,
            network_out_mib_s=slow.network.out_mib_s if slow.network else None,
            run_read_mib_s=slow.run.read_mib_s,
            run_storage_read_mib_s=slow.run.storage_read_mib_s,
            run_storage_write_mib_s=slow.run.storage_write_mib_s,
            cached_read_share=slow.run.cached_read_share,
            workers_age_s=slow_age_s,
            workers=slow.workers if slow_age_s == 0.0 else [],
            missing={**second.missing, **slow.missing, **self._always_missing},
        )
