"""The host as the training feels it: usable cores, who keeps them busy, memory, shared memory.

Read once a second by the hub; a reading costs a few file reads and no subprocess.
"""

import os
import time
from pathlib import Path

from perftui.ipc.view import HostView
from perftui.trainer.telemetry.cgroups import cpu_quota, memory_limit, read_text
from perftui.trainer.telemetry.cpu_clocks import HostCpuClock, RunCpuClock

_MIB = 1024 * 1024


def effective_cpus(root: Path = Path("/")) -> float:
    """Return the cores this process can really use: the affinity mask, or a lower cgroup quota.

    A quota may be a fraction (1.5): it is CPU time per time, not a number of threads.
    """
    allowed = float(len(os.sched_getaffinity(0)))
    quota = cpu_quota(root)
    return allowed if quota is None else min(allowed, quota)


class HostSampler:
    """Readings of one host; used by one thread. `root` is where /proc, /sys and /dev are looked for."""

    def __init__(self, host: str, root: Path = Path("/")) -> None:
        self._host = host
        self._root = root
        allowed = frozenset(os.sched_getaffinity(0))
        self._cores = float(len(allowed))
        self._host_cpu = HostCpuClock(allowed, root)
        self._run_cpu = RunCpuClock(root)
        self._spent_s = 0.0
        self._read_at: float | None = None

    def read(self, run_pids: set[int]) -> HostView:
        """Return the host since the last reading; `run_pids` are all processes of the run.

        A figure that could not be read is None, with the reason in `missing`.
        """
        own_share = self._own_share()
        began = time.thread_time()
        view = self._read(run_pids, own_share)
        self._spent_s = time.thread_time() - began
        return view

    def _own_share(self) -> float | None:
        now, before = time.monotonic(), self._read_at
        self._read_at = now
        return None if before is None or now <= before else self._spent_s / (now - before)

    def _read(self, run_pids: set[int], own_share: float | None) -> HostView:
        cpu_busy = self._host_cpu.cores()
        run_busy = self._run_cpu.cores(run_pids)
        pressure = _pressure(read_text(self._root / "proc/pressure/cpu"))
        used, total = _memory(self._root)
        shm = _shm_free(self._root / "dev/shm")
        load = read_text(self._root / "proc/loadavg").split()
        no_rate = "needs two readings" if own_share is None else "the kernel's CPU times cannot be read"
        reasons = {
            "cpu_busy": (cpu_busy, no_rate),
            "run_busy": (run_busy, no_rate),
            "pressure_share": (pressure, "this kernel keeps no pressure figures (/proc/pressure/cpu)"),
            "memory_total_mib": (total, "/proc/meminfo cannot be read"),
            "memory_used_mib": (used, "neither /proc/meminfo nor the cgroup says"),
            "shm_free_mib": (shm, "no /dev/shm"),
        }
        return HostView(
            name=self._host,
            age_s=0.0,
            cpus=effective_cpus(self._root),
            cores=self._cores,
            cpu_busy=cpu_busy,
            run_busy=run_busy,
            load_1m=float(load[0]) if load else None,
            pressure_share=pressure,
            memory_used_mib=used,
            memory_total_mib=total,
            shm_free_mib=shm,
            sampler_cpu_share=own_share,
            missing={name: reason for name, (value, reason) in reasons.items() if value is None},
        )


def _pressure(text: str) -> float | None:
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "some":
            averages = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            return float(averages["avg10"]) / 100 if "avg10" in averages else None
    return None


def _memory(root: Path) -> tuple[float | None, float | None]:
    """Return used and total in MiB: of the cgroup where it has a limit, else of the host."""
    kib = {
        name: int(rest.split()[0])
        for name, _, rest in (line.partition(":") for line in read_text(root / "proc/meminfo").splitlines())
        if rest.split() and rest.split()[0].isdecimal()
    }
    total, available = kib.get("MemTotal"), kib.get("MemAvailable")
    limit = memory_limit(root)
    if limit is not None and (total is None or limit.limit < total * 1024):
        return None if limit.used is None else limit.used / _MIB, limit.limit / _MIB
    if total is None or available is None:
        return None, None if total is None else total / 1024
    return (total - available) / 1024, total / 1024


def _shm_free(path: Path) -> float | None:
    try:
        state = os.statvfs(path)
    except OSError:
        return None
    return state.f_bavail * state.f_frsize / _MIB
