"""Disks, networks and memory of machines that are not here, to exact figures."""

from pathlib import Path

import pytest

from perftui.trainer.telemetry.cgroups import Hierarchy, hierarchies
from perftui.trainer.telemetry.host_memory import (
    OomKillClock,
    Paging,
    PagingClock,
    memory_use,
    oom_kills,
    shared_memory,
)
from perftui.trainer.telemetry.traffic import DiskClock, NetworkClock, NetworkTraffic
from tests.telemetry.fake_root import PAGE_MIB, V1, V2, lay

MIB_SECTORS = 2048


def _disk(
    name: str, reads: int = 0, read_mib: int = 0, read_ms: int = 0, written_mib: int = 0, busy_ms: int = 0
) -> str:
    numbers = (reads, 0, read_mib * MIB_SECTORS, read_ms, 0, 0, written_mib * MIB_SECTORS, 0, 0, busy_ms, 0)
    return f" 259 0 {name} {' '.join(map(str, numbers))} 0 0 0 0\n"


def test_a_byte_counts_once_whatever_is_stacked_on_the_disk(tmp_path: Path) -> None:
    for name, below in (("nvme0n1", ()), ("sda", ()), ("dm-0", ("nvme0n1",)), ("loop0", ())):
        (tmp_path / "sys/block" / name / "slaves").mkdir(parents=True)
        for slave in below:
            (tmp_path / "sys/block" / name / "slaves" / slave).touch()
    names = ("nvme0n1", "nvme0n1p1", "sda", "dm-0", "loop0")
    clock = DiskClock(tmp_path)
    lay(tmp_path, {"proc/diskstats": "".join(_disk(name) for name in names)})
    assert clock.read(10.0) is None
    lay(tmp_path, {"proc/diskstats": "".join(_disk(name, 50, 100, 400, 20, 1000) for name in names)})
    found = clock.read(12.0)
    assert found is not None
    assert (found.read_mib_s, found.write_mib_s, found.read_ms, found.busy_share) == (100.0, 20.0, 8.0, 0.5)


def test_without_sys_parts_and_stacks_are_told_by_name(tmp_path: Path) -> None:
    names = ("nvme0n1", "nvme0n1p1", "mmcblk0", "mmcblk0p2", "vda", "vda1", "dm-0", "md127", "zram0", "sr0")
    clock = DiskClock(tmp_path)
    lay(tmp_path, {"proc/diskstats": "".join(_disk(name) for name in names)})
    clock.read(10.0)
    lay(tmp_path, {"proc/diskstats": "".join(_disk(name, read_mib=3) for name in names)})
    found = clock.read(13.0)
    assert found is not None
    assert found.read_mib_s == 3.0
    assert found.read_ms is None  # bytes without a completed read: no time to tell


def test_a_machine_without_disks_or_network(tmp_path: Path) -> None:
    disks, network = DiskClock(tmp_path), NetworkClock(tmp_path)
    for now in (1.0, 2.0):
        assert disks.read(now) is None
        assert network.read(now) is None


def _network(**mib: int) -> str:
    head = "Inter-|   Receive |  Transmit\n face |bytes packets\n"
    rows = (
        f"  {name}: {value << 20} 0 0 0 0 0 0 0 {value << 19} 0 0 0 0 0 0 0\n" for name, value in mib.items()
    )
    return head + "".join(rows)


def test_the_loopback_does_not_count_and_bridges_do_only_where_nothing_is_real(tmp_path: Path) -> None:
    clock = NetworkClock(tmp_path)
    lay(tmp_path, {"proc/net/dev": _network(lo=0, eth0=0, docker0=0)})
    assert clock.read(10.0) is None
    lay(tmp_path, {"proc/net/dev": _network(lo=900, eth0=8, docker0=4)})
    assert clock.read(12.0) == NetworkTraffic(in_mib_s=6.0, out_mib_s=3.0)
    real = NetworkClock(tmp_path)
    (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    real.read(12.0)
    lay(tmp_path, {"proc/net/dev": _network(lo=900, eth0=10, docker0=44)})
    assert real.read(14.0) == NetworkTraffic(in_mib_s=1.0, out_mib_s=0.5)


def test_paging_is_told_by_the_runs_group_and_swapping_by_the_host(tmp_path: Path) -> None:
    lay(tmp_path, {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/job\n"})
    memory = hierarchies("memory", tmp_path)
    clock = PagingClock(tmp_path)
    for now, pages in ((10.0, 0), (11.0, 512)):
        lay(
            tmp_path,
            {"proc/vmstat": f"pswpin {pages}\npswpout {2 * pages}\nworkingset_refault_file {9 * pages}\n"},
        )
        lay(tmp_path, {"sys/fs/cgroup/job/memory.stat": f"anon 1\nworkingset_refault_file {4 * pages}\n"})
        found = clock.read(memory, now)
    assert found == Paging(512 * PAGE_MIB, 1024 * PAGE_MIB, 2048 * PAGE_MIB)


def test_paging_of_an_older_kernel_without_groups_and_of_one_that_says_nothing(tmp_path: Path) -> None:
    clock = PagingClock(tmp_path)
    assert clock.read([], 10.0) == Paging(None, None, None)
    for now, pages in ((11.0, 100), (12.0, 356)):
        lay(tmp_path, {"proc/vmstat": f"pswpin 0\nworkingset_refault {pages}\n"})
        found = clock.read([], now)
    assert found == Paging(0.0, None, 256 * PAGE_MIB)


@pytest.mark.parametrize(
    ("mounts", "group", "file", "text"),
    [
        (V2, "0::/job", "sys/fs/cgroup/job/memory.events", "low 0\nhigh 7\nmax 9\noom 3\noom_kill 2\n"),
        (V1, "3:memory:/job", "sys/fs/cgroup/memory/job/memory.oom_control", "under_oom 0\noom_kill 2\n"),
    ],
)
def test_processes_killed_for_want_of_memory(
    tmp_path: Path, mounts: str, group: str, file: str, text: str
) -> None:
    lay(tmp_path, {"proc/self/mountinfo": mounts, "proc/self/cgroup": group + "\n"})
    assert oom_kills(hierarchies("memory", tmp_path)) is None
    lay(tmp_path, {file: text})
    assert oom_kills(hierarchies("memory", tmp_path)) == (tmp_path / file.rpartition("/")[0], 2)


def _events(root: Path, group: str, kills: int) -> list[Hierarchy]:
    lay(root, {f"sys/fs/cgroup/{group}/memory.events": f"oom_kill {kills}\n"})
    return [Hierarchy(2, (root / "sys/fs/cgroup" / group,))]


def test_each_group_has_its_own_past_of_killed_processes(tmp_path: Path) -> None:
    clock = OomKillClock()
    assert clock.read(()) is None
    hub = _events(tmp_path, "hub", 1)  # of an earlier training in the same scope
    assert clock.read(hub) == 0
    assert clock.read(_events(tmp_path, "ranks", 0)) == 0, "nothing was killed, and no process came back"
    assert clock.read(_events(tmp_path, "ranks", 2)) == 2
    assert clock.read(hub) == 2, "the ranks have ended; what was counted stays"
    assert clock.read(()) == 2
    assert clock.read(_events(tmp_path, "hub", 2)) == 2, "the group above counts a kill below it as well"


def test_refaults_of_another_group_are_no_rate(tmp_path: Path) -> None:
    def group(name: str, pages: int) -> list[Hierarchy]:
        lay(tmp_path, {f"sys/fs/cgroup/{name}/memory.stat": f"workingset_refault_file {pages}\n"})
        return [Hierarchy(2, (tmp_path / "sys/fs/cgroup" / name,))]

    lay(tmp_path, {"proc/vmstat": "pswpin 0\npswpout 0\n"})
    clock = PagingClock(tmp_path)
    clock.read(group("ranks", 0), 10.0)
    assert clock.read(group("ranks", 256), 11.0).refault_mib_s == 256 * PAGE_MIB
    assert clock.read(group("hub", 10_000_000), 12.0).refault_mib_s is None
    assert clock.counted == {"swap_in_mib_s", "swap_out_mib_s", "refault_mib_s"}, "it needs a second reading"
    assert clock.read(group("hub", 10_000_256), 13.0).refault_mib_s == 256 * PAGE_MIB


def test_a_limit_counts_what_the_kernel_cannot_give_back(tmp_path: Path) -> None:
    mib = 1 << 20
    stat = {
        "anon": 64, "file": 190, "kernel": 30, "slab_reclaimable": 20, "sock": 2, "shmem": 8,
    }  # fmt: skip
    lay(
        tmp_path,
        {
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/job\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n",
            "sys/fs/cgroup/job/memory.max": f"{256 * mib}\n",
            "sys/fs/cgroup/job/memory.stat": "".join(
                f"{name} {value * mib}\n" for name, value in stat.items()
            ),
        },
    )
    use = memory_use(tmp_path, hierarchies("memory", tmp_path))
    assert (use.used_mib, use.total_mib, use.scope, use.swap_used_mib) == (84.0, 256.0, "cgroup", 3.0)


def test_without_meminfo_there_is_no_memory_and_without_a_folder_no_shared_memory(tmp_path: Path) -> None:
    use = memory_use(tmp_path, [])
    assert (use.used_mib, use.total_mib, use.scope, use.swap_used_mib) == (None, None, None, None)
    assert shared_memory(tmp_path) is None
    (tmp_path / "dev/shm").mkdir(parents=True)
    shm = shared_memory(tmp_path)
    assert shm is not None
    assert 0 < shm.free_mib <= shm.total_mib
