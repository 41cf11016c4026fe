"""Cores busy, to exact figures: of a host's mask of CPUs, and of a run whose processes come and go."""

from pathlib import Path

import pytest

from perftui.trainer.telemetry.cpu_clocks import HostCpuClock, RunCpuClock
from perftui.trainer.telemetry.process_table import parse_stat, read_table
from tests.telemetry.fake_root import HZ, cpu_stat, lay, stat


def test_only_cpus_of_the_mask_count() -> None:
    inside, outside = HostCpuClock(frozenset({1})), HostCpuClock(frozenset({2, 3}))
    first = cpu_stat((0,) * 8, (0, 0, 0, 1), (0, 0, 0, 1), (0, 0, 0, 1)).encode()
    later = cpu_stat((999,) * 8, (60, 5, 10, 26), (0, 0, 0, 101), (0, 0, 0, 101)).encode()
    assert inside.take(first) is None
    assert outside.take(first) is None
    one, idle = inside.take(later), outside.take(later)
    assert one is not None
    assert idle is not None
    assert (one.busy, one.system, one.stolen, one.iowait_share) == (0.75, 0.1, 0.0, 0.0)
    assert idle.busy == 0.0


def test_stolen_and_interrupts_are_busy_and_waiting_for_disks_is_not() -> None:
    clock = HostCpuClock(frozenset({0, 1}))
    clock.take(cpu_stat((0,) * 8, (0, 0, 0, 0, 1, 0, 0, 0)).encode())
    taken = clock.take(cpu_stat((0, 0, 10, 20, 10, 5, 5, 50), (0, 0, 0, 50, 51, 0, 0, 0)).encode())
    assert taken is not None
    assert (taken.busy, taken.system, taken.stolen) == pytest.approx((0.7, 0.2, 0.5))
    assert taken.iowait_share == 0.3


def test_a_counter_that_goes_back_is_no_negative_time() -> None:
    clock = HostCpuClock(frozenset({0}))
    clock.take(cpu_stat((0, 0, 0, 100, 40, 0, 0, 0)).encode())
    taken = clock.take(cpu_stat((10, 0, 0, 190, 30, 0, 0, 0)).encode())
    assert taken is not None
    assert (taken.busy, taken.iowait_share) == (0.1, 0.0)
    assert clock.take(b"") is None


class _Run:
    """A run below a fake root, read second by second."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = RunCpuClock()
        self.now_s = 1000.0

    def cores(self, files: dict[str, str], members: set[int], seconds: float = 1.0) -> float | None:
        lay(self.root, files)
        self.now_s += seconds
        return self.clock.cores(read_table(self.root / "proc", dict.fromkeys(members)), self.now_s)


@pytest.fixture
def run(tmp_path: Path) -> _Run:
    return _Run(tmp_path)


def test_a_child_that_ended_counts_once(run: _Run) -> None:
    both = {"proc/10/stat": stat(10, 5, 100), "proc/11/stat": stat(11, 6, 1000)}
    assert run.cores(both, {10, 11}) is None
    (run.root / "proc/11/stat").unlink()
    assert run.cores({"proc/10/stat": stat(10, 5, 101, 1002)}, {10, 11}, 2.0) == 3 / HZ / 2


def test_a_child_that_nobody_waited_for_takes_nothing_from_the_rest(run: _Run) -> None:
    run.cores({"proc/10/stat": stat(10, 5, 100), "proc/11/stat": stat(11, 6, 1000)}, {10, 11})
    assert run.cores({"proc/10/stat": stat(10, 5, 150)}, {10}) == 50 / HZ


def test_children_are_found_without_being_named(run: _Run) -> None:
    files = {
        "proc/10/stat": stat(10, 5),
        "proc/10/task/10/children": "11 ",
        "proc/11/stat": stat(11, 6),
        "proc/11/task/11/children": "12 10 ",
        "proc/12/stat": stat(12, 7),
    }
    run.cores(files, {10})
    assert run.cores({"proc/12/stat": stat(12, 7, 50)}, {10}) == 50 / HZ


def test_a_process_met_late_brings_no_past_and_one_born_since_brings_all(run: _Run) -> None:
    run.cores({}, set())
    old, young = stat(10, 5, 100_000, 7), stat(11, int((run.now_s + 0.5) * HZ), 30)
    assert run.cores({"proc/10/stat": old, "proc/11/stat": young}, {10, 11}) == 30 / HZ


def test_whoever_was_given_the_pid_since_is_not_the_run(tmp_path: Path) -> None:
    lay(tmp_path, {"proc/10/stat": stat(10, 99), "proc/10/task/10/children": "11", "proc/11/stat": stat(11)})
    assert read_table(tmp_path / "proc", {10: 5}) == {}
    assert list(read_table(tmp_path / "proc", {10: 99})) == [(10, 99), (11, 5)]


def test_a_stat_line_of_an_older_kernel_and_what_is_none() -> None:
    line = stat(10, 7, 3, 4, faults=(11, 12), threads=6, io_wait=9).encode()
    reading = parse_stat(10, line)
    assert reading is not None
    assert (reading.name, reading.state, reading.parent, reading.key) == ("a name) with", "S", 1, (10, 7))
    assert (reading.minor_faults, reading.major_faults, reading.own_ticks) == (11, 12, 3)
    assert (reading.children_ticks, reading.threads, reading.io_wait_ticks) == (4, 6, 9)
    short = parse_stat(10, b" ".join(line.split()[:30]))
    assert short is not None
    assert short.io_wait_ticks == 0
    assert parse_stat(10, b"") is None
    assert parse_stat(10, b"10 (x) S 1") is None
