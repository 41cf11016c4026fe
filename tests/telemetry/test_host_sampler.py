"""The host's figures: from this machine, and from folders laid out like machines that are not here."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perftui.trainer.telemetry.cgroups import cpu_quota, memory_limit
from perftui.trainer.telemetry.cpu_clocks import HostCpuClock, RunCpuClock
from perftui.trainer.telemetry.host import HostSampler, effective_cpus

_V2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
_V1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
)
_BURN = """
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: pass
"""
_BURN_IN_CHILD = f"""
import subprocess, sys
subprocess.run([sys.executable, '-c', {_BURN!r}, sys.argv[1]])
print('done', flush=True)
sys.stdin.read()
"""


def _lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_tightest_quota_on_the_whole_path_binds(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": _V2,
            "proc/self/cgroup": "0::/job/rank\n",
            "sys/fs/cgroup/job/rank/cpu.max": "max 100000\n",
            "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
        },
    )
    assert cpu_quota(root) == 1.5
    assert effective_cpus(root) == min(1.5, len(os.sched_getaffinity(0)))


def test_version_1_quota(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": _V1,
            "proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert effective_cpus(root) == 0.5


def test_a_container_sees_its_own_group_at_the_mount(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": "31 23 0:28 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/docker/abc/inner\n",
            "sys/fs/cgroup/cpu.max": "25000 100000\n",
        },
    )
    assert cpu_quota(root) == 0.25


def test_a_path_outside_the_namespace_is_the_top_of_the_mount(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": _V2,
            "proc/self/cgroup": "0::/../../elsewhere\n",
            "sys/fs/cgroup/cpu.max": "30000 100000\n",
        },
    )
    assert cpu_quota(root) == 0.3


@pytest.mark.parametrize("text", ["max 100000", "", "what", "100000", "0 100000", "100000 0", "-1 100000"])
def test_no_quota_and_nonsense_leave_the_affinity_mask(tmp_path: Path, text: str) -> None:
    root = _lay(
        tmp_path,
        {"proc/self/mountinfo": _V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": text},
    )
    assert effective_cpus(root) == len(os.sched_getaffinity(0))


def test_a_machine_without_cgroups(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None
    assert memory_limit(tmp_path) is None


def test_a_memory_limit_replaces_the_hosts_total_and_leaves_page_cache_out(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": _V2,
            "proc/self/cgroup": "0::/job\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
            "sys/fs/cgroup/job/memory.max": f"{256 << 20}\n",
            "sys/fs/cgroup/job/memory.stat": f"anon {64 << 20}\nfile {190 << 20}\nshmem {8 << 20}\n",
        },
    )
    view = HostSampler("h", root).read(set())
    assert (view.memory_used_mib, view.memory_total_mib) == (72.0, 256.0)


def test_an_unlimited_version_1_group_leaves_the_hosts_memory(tmp_path: Path) -> None:
    root = _lay(
        tmp_path,
        {
            "proc/self/mountinfo": _V1,
            "proc/self/cgroup": "3:memory:/\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    view = HostSampler("h", root).read(set())
    assert (view.memory_used_mib, view.memory_total_mib) == (512.0, 1024.0)


def test_what_a_machine_does_not_tell_is_none_with_a_reason(tmp_path: Path) -> None:
    sampler = HostSampler("h", tmp_path)
    sampler.read(set())
    view = sampler.read(set())
    assert view.pressure_share is None
    assert "/proc/pressure/cpu" in view.missing["pressure_share"]
    assert view.cpu_busy is None
    assert "cannot be read" in view.missing["cpu_busy"]
    assert view.load_1m is None
    assert {"memory_total_mib", "memory_used_mib", "shm_free_mib"} <= set(view.missing)


def test_pressure_is_a_share(tmp_path: Path) -> None:
    text = "some avg10=47.87 avg60=19.33 avg300=4.99 total=18733179\nfull avg10=0.00 avg60=0.00\n"
    root = _lay(tmp_path, {"proc/pressure/cpu": text})
    assert HostSampler("h", root).read(set()).pressure_share == 47.87 / 100


def test_only_cpus_of_the_mask_count(tmp_path: Path) -> None:
    def stat(busy: int, idle: int) -> str:
        lines = (f"cpu{cpu} {busy * (cpu == 1)} 0 0 {idle} 0 0 0 0 0 0" for cpu in range(4))
        return "\n".join(("cpu 0 0 0 0 0 0 0 0 0 0", *lines, "intr 1 2 3", ""))

    root = _lay(tmp_path, {"proc/stat": stat(0, 0).replace("0 0 0 0 0 0", "0 0 0 1 0 0")})
    inside, outside = HostCpuClock(frozenset({1}), root), HostCpuClock(frozenset({2, 3}), root)
    assert inside.cores() is None
    assert outside.cores() is None
    _lay(tmp_path, {"proc/stat": stat(75, 25)})
    assert inside.cores() == 75 / 99
    assert outside.cores() == 0.0


def _stat(pid: int, started: int, own: int, children: int) -> str:
    fields = ["S", *["0"] * 10, str(own), "0", str(children), "0", *["0"] * 4, str(started), "0"]
    return f"{pid} (a name) with) {' '.join(fields)}\n"


def test_a_child_that_ended_counts_once(tmp_path: Path) -> None:
    clock = RunCpuClock(tmp_path)
    _lay(tmp_path, {"proc/10/stat": _stat(10, 5, 100, 0), "proc/11/stat": _stat(11, 6, 1000, 0)})
    began = time.monotonic()
    assert clock.cores({10, 11}) is None
    earliest = time.monotonic()
    (tmp_path / "proc/11/stat").unlink()
    _lay(tmp_path, {"proc/10/stat": _stat(10, 5, 101, 1002)})
    latest = time.monotonic()
    cores = clock.cores({10, 11})
    used_s = 3 / os.sysconf("SC_CLK_TCK")
    assert cores is not None
    assert used_s / (time.monotonic() - began) <= cores <= used_s / (latest - earliest)


def test_a_child_that_nobody_waited_for_takes_nothing_from_the_rest(tmp_path: Path) -> None:
    clock = RunCpuClock(tmp_path)
    _lay(tmp_path, {"proc/10/stat": _stat(10, 5, 100, 0), "proc/11/stat": _stat(11, 6, 1000, 0)})
    clock.cores({10, 11})
    _lay(tmp_path, {"proc/10/stat": _stat(10, 5, 150, 0)})
    cores = clock.cores({10})
    assert cores is not None
    assert cores > 0


def test_children_are_found_without_being_named(tmp_path: Path) -> None:
    clock = RunCpuClock(tmp_path)
    _lay(
        tmp_path,
        {
            "proc/10/stat": _stat(10, 5, 0, 0),
            "proc/10/task/10/children": "11 ",
            "proc/11/stat": _stat(11, 6, 0, 0),
            "proc/11/task/11/children": "12 10 ",
            "proc/12/stat": _stat(12, 7, 0, 0),
        },
    )
    clock.cores({10})
    _lay(tmp_path, {"proc/12/stat": _stat(12, 7, 50, 0)})
    cores = clock.cores({10})
    assert cores is not None
    assert cores > 0


def test_a_process_met_late_brings_no_past(tmp_path: Path) -> None:
    clock = RunCpuClock(tmp_path)
    clock.cores(set())
    _lay(tmp_path, {"proc/10/stat": _stat(10, 5, 100_000, 7)})
    assert clock.cores({10}) == 0.0


def test_the_runs_own_work_is_seen_including_children_that_ended() -> None:
    sampler = HostSampler("here")
    command = [sys.executable, "-c", _BURN_IN_CHILD, "0.4"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        began = time.monotonic()
        sampler.read({process.pid})
        assert process.stdout.readline() == b"done\n"
        view = sampler.read({process.pid})
        elapsed = time.monotonic() - began
        process.stdin.close()
    assert view.run_busy is not None
    assert view.cpu_busy is not None
    assert 0.3 < view.run_busy * elapsed < 0.7
    assert view.sampler_cpu_share is not None
    assert view.missing.keys() <= {"pressure_share"}
    assert view.cores == len(os.sched_getaffinity(0))
