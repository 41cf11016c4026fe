"""What stands still: pressure of the run's group or the host, its stand-in, and the CPU quota's brake."""

from pathlib import Path

from perftui.ipc.view import Pressure
from perftui.trainer.telemetry.cgroups import cpu_quotas, hierarchies
from perftui.trainer.telemetry.pressure import PressureClock, average_of_10_s, group_with_pressure
from perftui.trainer.telemetry.throttling import ThrottleClock, Throttling
from tests.telemetry.fake_root import HYBRID, V1, V2, lay, psi

MS = 1000


def _group(root: Path) -> Path | None:
    return group_with_pressure(next((each for each in hierarchies("cpu", root) if each.version == 2), None))


def _lay_host(root: Path, ms: int) -> None:
    files = {f"proc/pressure/{name}": psi(ms * MS, ms * MS // 2) for name in ("cpu", "memory", "io")}
    lay(root, files)


def test_the_hosts_pressure_is_the_growth_of_its_totals(tmp_path: Path) -> None:
    clock = PressureClock(tmp_path)
    _lay_host(tmp_path, 5000)
    assert clock.read(None, 0.5, 10.0) == {}
    _lay_host(tmp_path, 5500)
    found = clock.read(None, 0.5, 12.0)
    assert found["memory"] == Pressure(source="host", some=0.25, full=0.125)
    assert found["io"] == Pressure(source="host", some=0.25, full=0.125)
    # for the CPUs of a whole host the kernel's "full" has no meaning
    assert found["cpu"] == Pressure(source="host", some=0.25, full=None)


def test_the_runs_own_group_comes_before_the_host(tmp_path: Path) -> None:
    _lay_host(tmp_path, 0)
    files = {
        "proc/self/mountinfo": V2,
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/cgroup.type": "domain\n",
    }
    lay(tmp_path, files)
    assert _group(tmp_path) is None  # without pressure figures of its own
    lay(tmp_path, {f"sys/fs/cgroup/job/{name}.pressure": psi(0) for name in ("cpu", "io")})
    group = _group(tmp_path)
    assert group == tmp_path / "sys/fs/cgroup/job"
    clock = PressureClock(tmp_path)
    clock.read(group, None, 10.0)
    _lay_host(tmp_path, 900)
    lay(tmp_path, {f"sys/fs/cgroup/job/{name}.pressure": psi(400 * MS, 100 * MS) for name in ("cpu", "io")})
    found = clock.read(group, None, 11.0)
    assert found["cpu"] == Pressure(source="cgroup", some=0.4, full=0.1)
    assert found["io"] == Pressure(source="cgroup", some=0.4, full=0.1)
    assert found["memory"] == Pressure(source="host", some=0.9, full=0.45)


def test_another_groups_past_is_no_pressure(tmp_path: Path) -> None:
    def group(name: str, ms: int) -> Path:
        lay(tmp_path, {f"{name}/{resource}.pressure": psi(ms * MS) for resource in ("cpu", "memory", "io")})
        return tmp_path / name

    clock = PressureClock(tmp_path)
    clock.read(group("ranks", 0), None, 10.0)
    assert clock.read(group("ranks", 250), None, 11.0)["cpu"].some == 0.25
    assert clock.read(group("hub", 900_000), None, 12.0) == {}
    assert clock.counted == {"cpu", "memory", "io"}, "known, after a second reading"
    assert clock.read(group("hub", 900_500), None, 13.0)["cpu"].some == 0.5


def test_the_top_group_is_the_host_and_a_namespaces_top_is_not(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.pressure": psi(0)},
    )
    assert _group(tmp_path) is None
    lay(tmp_path, {"sys/fs/cgroup/cgroup.type": "domain\n"})  # only groups below the top have a type
    assert _group(tmp_path) == tmp_path / "sys/fs/cgroup"


def test_pressure_is_there_in_the_unified_half_of_a_hybrid(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "proc/self/mountinfo": HYBRID,
            "proc/self/cgroup": "4:cpu,cpuacct:/old\n0::/new\n",
            "sys/fs/cgroup/unified/new/cgroup.type": "domain\n",
            "sys/fs/cgroup/unified/new/cpu.pressure": psi(0),
            "sys/fs/cgroup/cpu/old/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu/old/cpu.cfs_period_us": "100000\n",
        },
    )
    assert _group(tmp_path) == tmp_path / "sys/fs/cgroup/unified/new"
    assert cpu_quotas(hierarchies("cpu", tmp_path)) == [(1, tmp_path / "sys/fs/cgroup/cpu/old", 1.5)]


def test_without_pressure_figures_iowait_stands_in_under_its_own_name(tmp_path: Path) -> None:
    clock = PressureClock(tmp_path)
    assert clock.read(None, None, 10.0) == {}
    assert clock.read(None, 0.25, 11.0) == {"io": Pressure(source="iowait", some=0.25, full=None)}


def test_the_kernels_own_average() -> None:
    assert average_of_10_s(psi(1, avg10=47.87).encode()) == 47.87 / 100
    assert average_of_10_s(b"") is None
    assert average_of_10_s(b"full avg10=1.00 total=3\n") is None


def _limited(root: Path) -> list[tuple[int, Path]]:
    return [(version, folder) for version, folder, _ in cpu_quotas(hierarchies("cpu", root))]


def test_throttling_is_the_share_of_periods_and_the_time_of_all_cpus(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": V2,
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/cpu.max": "50000 100000\n",
        "sys/fs/cgroup/job/cpu.stat": "nr_periods 100\nnr_throttled 40\nthrottled_usec 1000000\n",
    }
    lay(tmp_path, files)
    clock, limited = ThrottleClock(), _limited(tmp_path)
    assert clock.read(limited, 10.0) is None
    later = "usage_usec 9\nnr_periods 120\nnr_throttled 55\nthrottled_usec 4000000\n"
    lay(tmp_path, {"sys/fs/cgroup/job/cpu.stat": later})
    assert clock.read(limited, 12.0) == Throttling(share=0.75, cores=1.5)
    assert clock.read(limited, 13.0) == Throttling(share=0.0, cores=0.0)  # nothing ran: no period passed


def test_throttling_in_version_1_is_told_in_nanoseconds(tmp_path: Path) -> None:
    cpu = "sys/fs/cgroup/cpu/job"
    lay(
        tmp_path,
        {
            "proc/self/mountinfo": V1,
            "proc/self/cgroup": "4:cpu,cpuacct:/job\n",
            f"{cpu}/cpu.cfs_quota_us": "50000\n",
            f"{cpu}/cpu.cfs_period_us": "100000\n",
            f"{cpu}/cpu.stat": "nr_periods 10\nnr_throttled 0\nthrottled_time 0\n",
        },
    )
    clock, limited = ThrottleClock(), _limited(tmp_path)
    clock.read(limited, 10.0)
    lay(tmp_path, {f"{cpu}/cpu.stat": "nr_periods 20\nnr_throttled 5\nthrottled_time 250000000\n"})
    assert clock.read(limited, 11.0) == Throttling(share=0.5, cores=0.25)


def test_of_two_groups_with_a_quota_that_one_counts_which_held_back_most(tmp_path: Path) -> None:
    top, own = "sys/fs/cgroup/job", "sys/fs/cgroup/job/rank"
    lay(tmp_path, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/job/rank\n"})
    lay(tmp_path, {f"{top}/cpu.max": "400000 100000\n", f"{own}/cpu.max": "100000 100000\n"})
    clock, limited = ThrottleClock(), _limited(tmp_path)
    for throttled in (0, 4):
        lay(tmp_path, {f"{top}/cpu.stat": f"nr_periods {10 + throttled}\nnr_throttled {throttled}\n"})
        lay(tmp_path, {f"{own}/cpu.stat": f"nr_periods {10 + throttled}\nnr_throttled {throttled // 2}\n"})
        found = clock.read(limited, 10.0 + throttled)
    assert found == Throttling(share=1.0, cores=0.0)


def test_without_a_quota_nothing_can_be_throttled(tmp_path: Path) -> None:
    lay(tmp_path, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/job\n"})
    lay(
        tmp_path,
        {"sys/fs/cgroup/job/cpu.max": "max 100000\n", "sys/fs/cgroup/job/cpu.stat": "nr_periods 0\n"},
    )
    assert _limited(tmp_path) == []
    assert ThrottleClock().read([], 1.0) is None
