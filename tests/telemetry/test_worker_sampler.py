"""One look after another at loader workers of a machine that is not here, to exact figures."""

from pathlib import Path

import pytest

from perftui.ipc.view import WorkerView
from perftui.trainer.telemetry.process_io import IoReading
from perftui.trainer.telemetry.process_table import ProcessKey, read_table
from perftui.trainer.telemetry.worker_kin import Kin
from perftui.trainer.telemetry.worker_sampler import THREADS_A_SWEEP, WorkerSampler
from tests.telemetry.fake_root import HZ, PAGE_MIB, lay, stat

MIB = 1 << 20
WORKER = (11, 5)
NAMED: dict[ProcessKey, Kin] = {WORKER: Kin(0, "name")}
IO: dict[ProcessKey, IoReading] = {WORKER: IoReading(10 * MIB, MIB, 0)}


class _Sweeps:
    """A sampler whose root is laid anew before each sweep."""

    def __init__(self, root: Path, *, accounts_io_wait: bool = True) -> None:
        self.root = root
        masks = {11: frozenset({0, 1, 2})}
        self.sampler = WorkerSampler(root, masks.get, accounts_io_wait=accounts_io_wait)
        self.now_s = 1000.0

    def sweep(
        self,
        files: dict[str, str],
        found: dict[ProcessKey, Kin] = NAMED,
        io: dict[ProcessKey, IoReading] = IO,
        seconds: float = 2.0,
    ) -> list[WorkerView]:
        lay(self.root, files)
        self.now_s += seconds
        pids = {int(path.name): None for path in (self.root / "proc").iterdir()}
        table = read_table(self.root / "proc", pids)
        self.sampler.note_states(table)
        return self.sampler.sweep(table, found, io, self.now_s)

    def note(self, files: dict[str, str]) -> None:
        lay(self.root, files)
        self.sampler.note_states(read_table(self.root / "proc", {11: None}))


@pytest.fixture
def sweeps(tmp_path: Path) -> _Sweeps:
    return _Sweeps(tmp_path)


def _files(own: int = 0, waited_ms: int = 0, **more: object) -> dict[str, str]:
    return {
        "proc/11/stat": stat(11, 5, own, **more),  # type: ignore[arg-type]
        "proc/11/statm": "900 500 120 1 0 400 0\n",
        "proc/11/schedstat": f"123456 {waited_ms * 1_000_000} 99\n",
        "proc/11/wchan": "poll_schedule_timeout.constprop.0",
        "proc/11/smaps_rollup": _rollup(30 * 1024),
    }


def _rollup(private_kib: int) -> str:
    """The file as a kernel writes it."""
    return (
        "55d0c0a3c000-7ffe5b1f2000 ---p 00000000 00:00 0                          [rollup]\n"
        "Rss:             2097152 kB\n"
        "Private_Clean:        96 kB\n"
        f"Private_Dirty:    {private_kib:6d} kB\n"
    )


def test_rates_cover_the_time_between_two_looks(sweeps: _Sweeps) -> None:
    (first,) = sweeps.sweep(_files(500, 100, faults=(1000, 10), io_wait=7))
    assert (first.cpu_share, first.read_mib_s, first.minor_faults_per_s) == (None, None, None)
    assert first.missing["cpu_share"] == first.missing["read_mib_s"] == "needs two looks"
    assert (first.rss_mib, first.shared_mib) == (500 * PAGE_MIB, 120 * PAGE_MIB)
    later = _files(500 + 3 * HZ, 600, faults=(3000, 14), io_wait=7 + HZ // 2, state="R")
    (view,) = sweeps.sweep(later, io={WORKER: IoReading(50 * MIB, 7 * MIB, 0)})
    assert (view.rank, view.pid, view.start_ticks, view.found_by, view.state) == (0, 11, 5, "name", "R")
    assert (view.cpu_share, view.cpu_wait_share, view.io_wait_share) == (1.5, 0.25, 0.25)
    assert (view.minor_faults_per_s, view.major_faults_per_s) == (1000.0, 2.0)
    assert (view.read_mib_s, view.storage_read_mib_s) == (20.0, 3.0)
    assert (view.threads, view.threads_running, view.cores) == (1, 1, 3)
    assert view.alive_s == 1004.0 - 5 / HZ
    assert view.missing == {}


def test_waiting_for_block_devices_is_told_only_where_it_is_accounted_for(tmp_path: Path) -> None:
    sweeps = _Sweeps(tmp_path, accounts_io_wait=False)
    sweeps.sweep(_files())
    (view,) = sweeps.sweep(_files())
    assert view.io_wait_share is None


@pytest.mark.parametrize(
    ("state", "asleep_in", "waits"),
    [
        ("S", "wait_woken", True),
        ("S", "unix_stream_read_generic", True),
        ("S", "anon_pipe_read", False),
        ("R", "0", False),
        ("S", "0", None),
    ],
)
def test_where_the_kernel_has_a_worker_asleep(
    sweeps: _Sweeps, state: str, asleep_in: str, waits: bool | None
) -> None:
    (view,) = sweeps.sweep({**_files(state=state), "proc/11/wchan": asleep_in})
    assert view.waits_for_socket is waits
    assert ("waits_for_socket" in view.missing) is (waits is None)


@pytest.mark.parametrize(
    ("asleep_in", "syscall", "waits"),
    [
        ("futex_do_wait", "202 0x7f2f78325000 0x109 0x0 0x0 0x0", True),  # a lock of multiprocessing's
        ("futex_wait_queue_me", "202 0x7f2f78325000 0x9 0x0 0x0 0x0", True),  # with a limit of time
        ("futex_do_wait", "202 0x563b2417ed50 0x189 0x0 0x0 0x0", False),  # of a thread of its own
        ("futex_do_wait", "202 0x7f2f783259d0 0x109 0x0 0x0 0x0", False),  # the end of a thread
        ("futex_do_wait", "202 0x7f2f78325000 0x101 0x0 0x0 0x0", False),  # a call that does not wait
        ("futex_do_wait", "running", False),
        ("futex_do_wait", "", None),
        ("futex_do_wait", "-1 0x7ffd8b404e98", None),
        ("locks_lock_inode_wait", "", True),
        ("fcntl_setlk", "", True),
        ("poll_schedule_timeout", "", False),
        ("0", "", None),
    ],
)
def test_a_worker_that_waits_for_another_ones_lock(
    sweeps: _Sweeps, asleep_in: str, syscall: str, waits: bool | None
) -> None:
    files = {**_files(state="S"), "proc/11/wchan": asleep_in}
    (view,) = sweeps.sweep({**files, "proc/11/syscall": syscall} if syscall else files)
    assert view.waits_for_lock is waits
    assert ("waits_for_lock" in view.missing) is (waits is None)


def test_what_is_a_workers_own_is_read_of_one_a_rank_and_not_at_each_look(sweeps: _Sweeps) -> None:
    found = {WORKER: Kin(0, "name"), (12, 6): Kin(0, "name"), (13, 6): Kin(1, "name")}
    more = {"proc/12/stat": stat(12, 6), "proc/13/stat": stat(13, 6), "proc/13/smaps_rollup": _rollup(2048)}
    first = sweeps.sweep({**_files(), **more}, found)
    assert [view.private_mib for view in first] == [30.0, None, 2.0]
    assert first[1].missing["private_mib"] == "read of one worker a rank"
    grown = {**_files(), **more, "proc/11/smaps_rollup": _rollup(50 * 1024)}
    assert [view.private_mib for view in sweeps.sweep(grown, found)] == [30.0, None, 2.0]
    assert [view.private_mib for view in sweeps.sweep(grown, found)] == [50.0, None, 2.0]


def test_the_share_of_looks_that_found_it_blocked(sweeps: _Sweeps) -> None:
    sweeps.sweep(_files(state="D"))
    for state in "DDSSRRSS":
        sweeps.note(_files(state=state))
    (view,) = sweeps.sweep(_files(state="D"))
    assert view.blocked_share == 0.4  # DDDSSRRSSD
    sweeps.note(_files(state="S"))
    (view,) = sweeps.sweep(_files(state="S"))
    assert view.blocked_share == 0.2  # DSSRRSSDSS


def test_what_cannot_be_read_is_none_and_says_why(sweeps: _Sweeps) -> None:
    sweeps.sweep({"proc/12/stat": stat(12, 5)}, {(12, 5): Kin(3, "kin")}, {})
    (view,) = sweeps.sweep({"proc/12/stat": stat(12, 5)}, {(12, 5): Kin(3, "kin")}, {})
    assert (view.rank, view.found_by, view.cpu_share) == (3, "kin", 0.0)
    assert view.missing == {
        "read_mib_s": "/proc/12/io: there is none",
        "storage_read_mib_s": "/proc/12/io: there is none",
        "cpu_wait_share": "/proc/12/schedstat: there is none",
        "rss_mib": "/proc/12/statm: there is none",
        "shared_mib": "/proc/12/statm: there is none",
        "waits_for_socket": "the kernel does not tell where it sleeps",
        "waits_for_lock": "the kernel does not tell where it sleeps",
        "private_mib": "/proc/12/smaps_rollup: there is none",
        "cores": "the affinity mask cannot be read",
    }
    assert all(getattr(view, name) is None for name in view.missing)


def test_a_worker_that_ended_is_shown_as_gone_once(sweeps: _Sweeps) -> None:
    sweeps.sweep(_files())
    (sweeps.root / "proc/11/stat").unlink()
    (gone,) = sweeps.sweep({}, {})
    assert (gone.rank, gone.pid, gone.start_ticks, gone.gone, gone.cpu_share) == (0, 11, 5, True, None)
    assert sweeps.sweep({}, {}) == []


def test_a_pid_given_to_a_new_worker_is_another_worker(sweeps: _Sweeps) -> None:
    sweeps.sweep(_files(500))
    again = {(11, 90): Kin(0, "name")}
    new, gone = sweeps.sweep({"proc/11/stat": stat(11, 90, 3)}, again, {})
    assert (new.start_ticks, new.gone, new.cpu_share) == (90, False, None)
    assert (gone.start_ticks, gone.gone) == (5, True)


def test_a_worker_lives_on_when_its_rank_has_died(sweeps: _Sweeps) -> None:
    lay(sweeps.root, {"proc/10/stat": stat(10, 5)})
    sweeps.sweep(_files(parent=10))
    (sweeps.root / "proc/10/stat").unlink()
    (orphan,) = sweeps.sweep(_files(HZ, parent=1), {})
    assert (orphan.rank, orphan.gone, orphan.cpu_share) == (0, False, 0.5)


def _threads(pid: int, states: str) -> dict[str, str]:
    files = {f"proc/{pid}/task/{pid + at}/stat": stat(pid + at, state=s) for at, s in enumerate(states)}
    return {f"proc/{pid}/stat": stat(pid, 5, threads=len(states)), **files}


def test_threads_that_run_are_counted_one_by_one(sweeps: _Sweeps) -> None:
    (view,) = sweeps.sweep({**_files(), **_threads(11, "SRRDRS")})
    assert (view.threads, view.threads_running) == (6, 3)


def test_workers_with_many_threads_are_looked_at_in_turns(sweeps: _Sweeps) -> None:
    third = THREADS_A_SWEEP // 3
    pids = (1000, 2000, 3000, 4000, 5000)
    files: dict[str, str] = {}
    for pid in pids:
        files.update(_threads(pid, "R" * (third if pid < 5000 else THREADS_A_SWEEP + 1)))
    found = {(pid, 5): Kin(0, "name") for pid in pids}
    seen = [[view.threads_running for view in sweeps.sweep(files, found, {})] for _ in range(3)]
    assert seen == [
        [third, third, third, None, None],
        [third, third, None, third, None],
        [third, None, third, third, None],
    ]
    view = sweeps.sweep(files, found, {})[4]
    assert view.missing["threads_running"] == "too many threads to look at each time"
