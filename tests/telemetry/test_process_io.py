"""What a run reads and writes, over births and deaths; what the page cache answered, if that can be said."""

import subprocess
import sys
from pathlib import Path

import pytest

from perftui.trainer.telemetry.cached_reads import CachedReads, uncounted_file_system
from perftui.trainer.telemetry.process_io import IoReading, growth, read_io, total, why_no_io
from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, parse_stat, read_table
from perftui.trainer.telemetry.run_reads import RunReads
from tests.telemetry.fake_root import io, lay, stat

MIB = 1 << 20


def _process(pid: int, parent: int, started: int = 5) -> ProcessReading:
    reading = parse_stat(pid, stat(pid, started, parent=parent).encode())
    assert reading is not None
    return reading


RANK, SERVER, WORKER = (10, 5), (11, 5), (12, 5)
FAMILY = {(r.pid, r.start_ticks): r for r in (_process(10, 1), _process(11, 10), _process(12, 11))}


def _io(called: int, stored: int = 0) -> IoReading:
    return IoReading(called, stored, 0)


def test_a_living_process_counts_by_its_growth_and_a_new_one_by_all_it_has() -> None:
    before = {RANK: _io(100, 10)}
    now = {RANK: _io(130, 15), (13, 70): _io(7), (14, 40): _io(9000)}
    assert growth(before, now, FAMILY, 60.0) == {RANK: _io(30, 5), (13, 70): _io(7), (14, 40): _io(0)}


def test_what_an_ended_child_leaves_to_its_ancestor_counts_once() -> None:
    # the worker ended, its server waited for it and ended too: all is the rank's now
    before = {RANK: _io(100), SERVER: _io(20), WORKER: _io(500)}
    assert growth(before, {RANK: _io(100 + 25 + 530)}, FAMILY, 60.0) == {RANK: _io(5 + 30)}


def test_a_child_that_nobody_waited_for_makes_nothing_negative() -> None:
    before = {RANK: _io(100), WORKER: _io(500)}
    orphaned: dict[ProcessKey, ProcessReading] = {RANK: FAMILY[RANK], WORKER: _process(12, 1)}
    assert growth(before, {RANK: _io(103)}, orphaned, 60.0) == {RANK: _io(3)}
    assert growth(before, {RANK: _io(103)}, FAMILY, 60.0) == {RANK: _io(0)}
    assert total([_io(1, 2), _io(3, 4)]) == _io(4, 6)


class _Run:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.reads = RunReads(root)
        self.now_s = 1000.0

    def read(
        self, files: dict[str, str], loaders: set[ProcessKey], uncounted: str | None = None
    ) -> tuple[object, ...]:
        lay(self.root, files)
        self.now_s += 2.0
        table = read_table(self.root / "proc", {10: None, 12: None})
        found = self.reads.read(table, loaders, uncounted, self.now_s)
        self.missing = found.missing
        return found.read_mib_s, found.storage_read_mib_s, found.storage_write_mib_s, found.cached_read_share


@pytest.fixture
def run(tmp_path: Path) -> _Run:
    lay(tmp_path, {"proc/10/stat": stat(10), "proc/12/stat": stat(12, parent=10)})
    return _Run(tmp_path)


def test_only_what_loaders_read_counts_for_the_cache(run: _Run) -> None:
    first = run.read({"proc/10/io": io(0), "proc/12/io": io(0)}, {WORKER})
    assert first == (None, None, None, None)
    assert set(run.missing.values()) == {"needs two readings"}
    # the rank took 96 MiB of batches out of a pipe; its worker read 40 MiB of files, 10 of them from a disk
    found = run.read({"proc/10/io": io(96 * MIB), "proc/12/io": io(40 * MIB, 10 * MIB, 4 * MIB)}, {WORKER})
    assert found == (68.0, 5.0, 2.0, 0.75)
    assert run.missing == {}


def test_one_unreadable_process_leaves_no_sum_and_says_which(run: _Run) -> None:
    run.read({"proc/10/io": io(0)}, {WORKER})
    assert run.read({"proc/10/io": io(MIB)}, {WORKER}) == (None, None, None, None)
    assert run.missing["run_read_mib_s"] == "/proc/12/io: there is none (1 of 2 processes)"


def test_an_ended_process_that_was_not_collected_keeps_what_it_had(run: _Run) -> None:
    run.read({"proc/10/io": io(0), "proc/12/io": io(30 * MIB)}, {WORKER})
    (run.root / "proc/12/io").unlink()
    zombie = {"proc/12/stat": stat(12, parent=10, state="Z"), "proc/10/io": io(2 * MIB)}
    assert run.read(zombie, {RANK})[0] == 1.0
    (run.root / "proc/12/stat").unlink()
    assert run.read({"proc/10/io": io(36 * MIB)}, {RANK})[0] == 2.0


def _share(*loaders: IoReading | None, foreign: str | None = None) -> tuple[float | None, str]:
    cached = CachedReads()
    for each in loaders:
        cached.add(each)
    found = cached.share(foreign)
    return found.share, found.reason


def test_the_caches_share_is_a_ratio_of_sums_over_the_last_five_readings() -> None:
    old, new = _io(900 * MIB, 900 * MIB), _io(10 * MIB, 1 * MIB)
    assert _share(old, new, new, new, new, new) == (0.9, "")
    assert _share(_io(10 * MIB), _io(10 * MIB, 20 * MIB)) == (0.0, "")


def test_where_the_ratio_says_nothing_nothing_is_said() -> None:
    assert _share() == _share(_io(1000)) == (None, "loaders read less than 1 MiB in ten seconds")
    assert _share(_io(900 * MIB), None) == (None, "loaders read less than 1 MiB in ten seconds")
    share, reason = _share(_io(4 * MIB, 64 * MIB))
    assert share is None
    assert "mapped files" in reason
    share, reason = _share(_io(64 * MIB), foreign="lustre")
    assert share is None
    assert "lustre" in reason
    assert _share(_io(64 * MIB), foreign=None) == (1.0, "")
    assert _share(_io(64 * MIB, 16 * MIB), foreign="lustre") == (0.75, "")


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (("ext4", "overlay", "tmpfs", "nfs4"), None),
        (("ext4", "fuse.lxcfs", "fusectl"), None),
        (("ext4", "fuse.sshfs"), "fuse.sshfs"),
        (("overlay", "9p"), "9p"),
        (("xfs", "virtiofs"), "virtiofs"),
    ],
)
def test_file_systems_whose_reads_may_not_count(kinds: tuple[str, ...], found: str | None) -> None:
    lines = "".join(
        f"31 23 0:{number} / /m{number} rw - {kind} src rw\n" for number, kind in enumerate(kinds)
    )
    assert uncounted_file_system(lines) == found


_FORBIDDEN = """
import ctypes, os
from pathlib import Path
from perftui.trainer.telemetry.process_io import read_io, why_no_io
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
ready, tell = os.pipe()
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: its files in /proc are no longer its user's to read
    os.write(tell, b"x")
    os.read(os.dup(0), 1)
    os._exit(0)
os.read(ready, 1)
why = why_no_io(Path("/proc"), pid).replace(str(pid), "PID")
print(read_io(Path("/proc"), pid), why, sep="; ", flush=True)
"""


def test_a_process_that_may_not_be_read_is_no_zero() -> None:
    done = subprocess.run([sys.executable, "-c", _FORBIDDEN], input=b"", capture_output=True, check=True)
    assert done.stdout.decode().strip() == "None; /proc/PID/io: not permitted"


def test_an_ended_process_has_no_io(tmp_path: Path) -> None:
    assert read_io(tmp_path / "proc", 77) is None
    assert why_no_io(tmp_path / "proc", 77) == "/proc/77/io: there is none"
    lay(tmp_path, {"proc/77/io": "what\n"})
    assert read_io(tmp_path / "proc", 77) is None
    assert why_no_io(tmp_path / "proc", 77) == "/proc/77/io: not understood"
