"""The host's figures: from this machine, and from folders laid out like machines that are not here."""

import os
from pathlib import Path

import pytest

from perftui.ipc.view import HostView, Pressure
from perftui.trainer.telemetry.cgroups import cpu_quota, hierarchies, tightest_memory_limit
from perftui.trainer.telemetry.host import HostSampler, effective_cpus
from perftui.trainer.telemetry.worker_kin import RankProcess
from tests.telemetry.fake_root import HZ, V1, V2, Clock, cpu_stat, io, lay, psi, stat


def test_the_tightest_quota_on_the_whole_path_binds(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/job/rank\n",
            "sys/fs/cgroup/job/rank/cpu.max": "max 100000\n",
            "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
        },
    )
    assert cpu_quota(root) == 1.5
    assert effective_cpus(root) == min(1.5, len(os.sched_getaffinity(0)))


def test_version_1_quota(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": V1,
            "proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert effective_cpus(root) == 0.5


def test_a_container_sees_its_own_group_at_the_mount(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": "31 23 0:28 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/docker/abc/inner\n",
            "sys/fs/cgroup/cpu.max": "25000 100000\n",
        },
    )
    assert cpu_quota(root) == 0.25


def test_a_path_outside_the_namespace_is_the_top_of_the_mount(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/../../elsewhere\n",
            "sys/fs/cgroup/cpu.max": "30000 100000\n",
        },
    )
    assert cpu_quota(root) == 0.3


@pytest.mark.parametrize("text", ["max 100000", "", "what", "100000", "0 100000", "100000 0", "-1 100000"])
def test_no_quota_and_nonsense_leave_the_affinity_mask(tmp_path: Path, text: str) -> None:
    root = lay(
        tmp_path,
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": text},
    )
    assert effective_cpus(root) == len(os.sched_getaffinity(0))


def test_a_machine_without_cgroups(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None
    assert tightest_memory_limit(hierarchies("memory", tmp_path)) is None


def test_a_memory_limit_replaces_the_hosts_total_and_leaves_page_cache_out(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/job\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
            "sys/fs/cgroup/job/memory.max": f"{256 << 20}\n",
            "sys/fs/cgroup/job/memory.stat": f"anon {64 << 20}\nfile {190 << 20}\nshmem {8 << 20}\n",
        },
    )
    view = HostSampler("h", root).read({})
    assert (view.memory_used_mib, view.memory_total_mib) == (72.0, 256.0)


def test_an_unlimited_version_1_group_leaves_the_hosts_memory(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/self/mountinfo": V1,
            "proc/self/cgroup": "3:memory:/\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    view = HostSampler("h", root).read({})
    assert (view.memory_used_mib, view.memory_total_mib) == (512.0, 1024.0)


def test_what_a_machine_does_not_tell_is_none_with_a_reason(tmp_path: Path) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock)
    view = sampler.read({10: None}, [RankProcess(0, 10, 5)])
    for _ in range(3):
        clock.now_s += 1
        view = sampler.read({10: None}, [RankProcess(0, 10, 5)])
    told = {
        "name", "age_s", "cpus", "cpus_given", "cores", "sampler_cpu_share", "slow_age_s", "workers_age_s",
        "workers", "gpu_note", "missing",
    }  # fmt: skip
    silent = set(HostView.__struct_fields__) - told
    assert {name for name in silent if getattr(view, name) is not None} == set()
    assert silent == set(view.missing) - {"workers.io_wait_share"}
    assert "needs two" not in " ".join(view.missing.values())
    assert view.missing["pressure_io"] == "this kernel keeps no pressure figures (/proc/pressure)"
    assert view.missing["run_busy"] == "none of the run's processes can be read in /proc"
    assert view.missing["throttled_share"] == "no CPU quota is to be seen"


def _machine(second: int) -> dict[str, str]:
    """A host of two CPUs as it is after so many seconds, with one rank and one loader worker."""
    ticks, mib = second * HZ, second << 20
    cpus = (ticks // 2, 0, ticks // 4, ticks // 4), (ticks // 4, 0, 0, 3 * ticks // 4 + 1)
    return {
        "proc/stat": cpu_stat(*cpus),
        "sys/devices/system/cpu/online": "0-1\n",
        "sys/class/net/uevent": "",
        "proc/loadavg": "1.50 1.00 0.50 3/456 7890\n",
        "proc/pressure/cpu": psi(second * 125_000, avg10=12.0),
        "proc/pressure/io": psi(second * 250_000, second * 62_500),
        "proc/pressure/memory": psi(0),
        "proc/meminfo": "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        "proc/vmstat": "pswpin 0\npswpout 0\nworkingset_refault_file 0\n",
        "proc/diskstats": f"8 0 sda {4 * second} 0 {second * 8192} {6 * second} 0 0 0 0 0 {second * 500} 0\n",
        "proc/net/dev": f"eth0: {8 * mib} 0 0 0 0 0 0 0 {mib} 0 0 0 0 0 0 0\n",
        "proc/10/stat": stat(10, 5, ticks // 2, name="python", threads=4),
        "proc/10/io": io(100 * mib),
        "proc/10/task/10/children": "11",
        "proc/11/stat": stat(11, 6, ticks // 4, name="pt_data_worker", parent=10, state="D"),
        "proc/11/io": io(8 * mib, 2 * mib, mib),
        "proc/11/statm": "90 50 10 0 0 0 0\n",
        "proc/11/schedstat": f"0 {second * 250_000_000} 7\n",
    }


def test_a_whole_machine_to_exact_figures(tmp_path: Path) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, {10: frozenset({0, 1}), 11: frozenset({1})}.get)
    ranks = [RankProcess(0, 10, 5, names_workers=True)]
    views: list[HostView] = []
    for second in range(5):
        lay(tmp_path, _machine(second))
        views.append(sampler.read({10: 5}, ranks))
        clock.now_s += 1
    assert [view.slow_age_s for view in views] == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert [len(view.workers) for view in views] == [1, 0, 1, 0, 1]
    view = views[4]
    assert (view.cpus, view.cores, view.load_1m, view.runnable) == (2.0, 2.0, 1.5, 3)
    assert view.cpu_busy == pytest.approx(1.0, abs=0.02)
    assert view.system_busy == pytest.approx(0.25, abs=0.01)
    assert (view.run_busy, view.stolen) == (0.75, 0.0)
    assert view.others_busy == pytest.approx(0.25, abs=0.02)
    assert (view.pressure_share, view.pressure_cpu) == (0.12, Pressure(source="host", some=0.125))
    assert view.pressure_io == Pressure(source="host", some=0.25, full=0.0625)
    assert (view.memory_used_mib, view.memory_total_mib, view.memory_scope) == (1024.0, 2048.0, "host")
    assert (view.disk_read_mib_s, view.disk_read_ms, view.disk_busy_share) == (4.0, 1.5, 0.5)
    assert (view.network_in_mib_s, view.network_out_mib_s, view.refault_mib_s) == (8.0, 1.0, 0.0)
    assert (view.run_read_mib_s, view.run_storage_read_mib_s) == (108.0, 2.0)
    assert view.run_storage_write_mib_s == 1.0
    assert (view.cached_read_share, view.run_processes, view.run_threads) == (0.75, 2, 5)
    (worker,) = view.workers
    assert (worker.rank, worker.state, worker.blocked_share, worker.cores) == (0, "D", 1.0, 1)
    assert (worker.cpu_share, worker.cpu_wait_share, worker.read_mib_s) == (0.25, 0.25, 8.0)
    assert set(view.missing) == {
        "throttled_share", "throttled_cores", "oom_kills", "shm_free_mib", "shm_total_mib",
        "workers.io_wait_share",
    }  # fmt: skip


def test_ranks_are_asked_how_they_are_confined_not_the_hub(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/hub\n",
            "proc/10/cgroup": "0::/job\n",
            "proc/10/stat": stat(10, 5),
            "sys/fs/cgroup/hub/cpu.max": "100000 100000\n",
            "sys/fs/cgroup/job/cpu.max": "250000 100000\n",
        },
    )
    masks = {10: frozenset({0, 1, 2}), 20: frozenset({2, 3})}
    sampler = HostSampler("h", tmp_path, Clock(), masks.get)
    assert sampler.read({}).cpus == min(1.0, len(os.sched_getaffinity(0)))
    view = sampler.read({}, [RankProcess(0, 10, 5), RankProcess(1, 20, 5)])
    assert (view.cores, view.cpus) == (4.0, 2.5)


def test_ranks_in_a_group_of_their_own_have_a_past_of_their_own(tmp_path: Path) -> None:
    def machine(kills: int) -> None:
        groups = {
            f"sys/fs/cgroup/{group}/{name}": text
            for group, past in (("hub", 1), ("job", 0))
            for name, text in {
                "cgroup.type": "domain\n",
                "memory.events": f"oom_kill {past + kills * (group == 'job')}\n",
                "memory.stat": f"workingset_refault_file {past * 10**9}\n",
                **{f"{each}.pressure": psi(past * 10**9) for each in ("cpu", "memory", "io")},
            }.items()
        }
        lay(tmp_path, {**_machine(1), **groups})

    machine(0)
    lay(tmp_path, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/hub\n", "proc/10/cgroup": "0::/job\n"})
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, {10: frozenset({0})}.get)
    ranks = [RankProcess(0, 10, 5)]

    def read(seen: list[RankProcess]) -> HostView:
        view = sampler.read({}, seen)
        clock.now_s += 60
        return view

    assert read([]).oom_kills == 0
    view = read(ranks)
    assert (view.oom_kills, view.pressure_cpu, view.refault_mib_s) == (0, None, None)
    assert view.missing["pressure_cpu"] == view.missing["refault_mib_s"] == "needs two readings"
    machine(3)
    view = read(ranks)
    assert (view.oom_kills, view.refault_mib_s) == (3, 0.0)
    assert view.pressure_cpu == Pressure(source="cgroup", some=0.0, full=0.0)
    view = read([])
    assert (view.oom_kills, view.pressure_cpu, view.refault_mib_s) == (3, None, None)


@pytest.mark.parametrize(
    "texts",
    [
        [cpu_stat((0,) * 8)] * 3,  # a sandbox that keeps no counters
        [cpu_stat((5,) * 8)] * 3,  # or none that move
        [cpu_stat((0,) * 8, *((0, 0, 0, n, 0, 0, 0, 0),) * 3) for n in (1, 2, 3)],  # under other numbers
        [""] * 3,
    ],
)
def test_cpus_of_which_the_kernel_never_tells_need_no_second_reading(
    tmp_path: Path, texts: list[str]
) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, {10: frozenset({0})}.get)

    def read(text: str) -> HostView:
        lay(tmp_path, {"proc/stat": text})
        clock.now_s += 1
        return sampler.read({}, [RankProcess(0, 10, 5)])

    view = [read(text) for text in texts][-1]
    for name in ("cpu_busy", "system_busy", "stolen", "others_busy"):
        assert view.missing[name] == "/proc/stat tells nothing of the run's CPUs"
    read(cpu_stat((9,) * 8))
    assert read(cpu_stat((9, 9, 9, 99, 9, 9, 9, 9))).cpu_busy == 0.0, "should it tell after all"


def test_how_many_cpus_there_are_without_a_mask_and_which_gpus(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/job/rank\n",
            "sys/devices/system/cpu/online": "0-15,32\n",
            "sys/class/net/uevent": "",
        },
    )
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, lambda _pid: None)
    assert (sampler.read({}).cpus_online, sampler.read({}).gpus_present) == (17, 0)
    lay(
        tmp_path,
        {
            "sys/fs/cgroup/job/cpuset.cpus.effective": "0-3\n",
            "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \n",
            "sys/class/kfd/kfd/topology/nodes/0/gpu_id": "0\n",
            "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "4711\n",
        },
    )
    clock.now_s += 60.0
    view = sampler.read({})
    assert (view.cpus_online, view.gpus_present) == (4, 2)


def test_processes_hidden_from_this_user_leave_no_figure_and_those_that_ended_a_zero(tmp_path: Path) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock)
    lay(tmp_path, {"proc/stat": cpu_stat((0, 0, 0, 1))})
    sampler.read({10: 5})
    clock.now_s += 1
    view = sampler.read({10: 5})
    clock.now_s += 1
    assert (view.run_busy, view.others_busy) == (None, None)
    lay(tmp_path, {"proc/10/stat": stat(10, 5)})
    assert sampler.read({10: 5}).run_busy == 0.0
    (tmp_path / "proc/10/stat").unlink()
    clock.now_s += 1
    assert sampler.read({10: 5}).run_busy == 0.0


def test_without_pressure_figures_iowait_is_shown_as_such(tmp_path: Path) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, {10: frozenset({0})}.get)
    lay(tmp_path, {"proc/stat": cpu_stat((0, 0, 0, 0, 1))})
    sampler.read({}, [RankProcess(0, 10, 5)])
    clock.now_s += 1
    lay(tmp_path, {"proc/stat": cpu_stat((0, 0, 0, 70, 31))})
    view = sampler.read({}, [RankProcess(0, 10, 5)])
    assert view.pressure_io == Pressure(source="iowait", some=0.3)
    assert (view.pressure_cpu, view.pressure_memory) == (None, None)
    assert "pressure_io" not in view.missing


_GARBAGE = (
    "",
    "\n",
    "what is this\n",
    "-1 -2 -3\n",
    ": : :\n",
    "a: b c d e f g h i j k l m n o p q r\n",
    "\x00\xff\n",
)


@pytest.mark.parametrize("file", sorted(_machine(0)))
def test_no_file_of_the_kernel_can_stop_the_hub(tmp_path: Path, file: str) -> None:
    clock = Clock()
    sampler = HostSampler("h", tmp_path, clock, {10: frozenset({0, 1})}.get)
    ranks = [RankProcess(0, 10, 5, names_workers=True)]
    good = _machine(1)[file]
    shortened = (good[: len(good) // 2], good.replace(" ", " x"), good.upper(), good * 2)
    for second, text in enumerate((good, *_GARBAGE, *shortened, good)):
        lay(tmp_path, {**_machine(second), file: text})
        view = sampler.read({10: 5}, ranks)
        assert view.run_busy is None or view.run_busy >= 0
        clock.now_s += 2
