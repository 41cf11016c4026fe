"""The host's figures from this machine's own kernel, with real processes and real loader workers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perftui.ipc.view import HostView, WorkerView
from perftui.trainer.telemetry.host import HostSampler
from perftui.trainer.telemetry.process_io import read_io
from perftui.trainer.telemetry.processes import descendants, is_alive, start_ticks
from perftui.trainer.telemetry.worker_kin import RankProcess, names_workers
from perftui.trainer.telemetry.worker_looks import (
    asleep_in,
    read_private_mib,
    waits_for_lock,
    waits_for_socket,
)
from tests.waiting import wait_until

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch]

LOADER = str(Path(__file__).with_name("loader_in_a_process.py"))
MIB = 1 << 20
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
_READ = """
import os, sys
path, times = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(times):
        descriptor = os.open(path, os.O_RDONLY)
        if line.strip() == "cold":
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(descriptor, 1 << 16): pass
        os.close(descriptor)
    print("done", flush=True)
"""


class Child:
    """A process that is told what to do by lines, and says when it has done it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        ticks = start_ticks(process.pid)
        assert ticks is not None
        self.rank = RankProcess(0, process.pid, ticks, names_workers(torch.__version__), has_workers=True)

        self._family: dict[int, int] = {}

    def note_family(self) -> None:
        """Remember who descends from it, so that nobody is left when it ends before them."""
        self._family.update(descendants(self.process.pid))

    def end(self) -> None:
        self.note_family()
        self.process.kill()
        for pid, ticks in self._family.items():
            if is_alive(pid, ticks):
                os.kill(pid, signal.SIGKILL)

    def ask(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().decode().strip() == word

    def do(self, line: str) -> None:
        self.ask(line)
        self.hear("done")


@contextmanager
def started(*command: str) -> Generator[Child, None, None]:
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        child = Child(process)
        try:
            yield child
        finally:
            child.end()


class Reader:
    """The sampler on this machine, on a clock that lets a second pass between any two readings."""

    def __init__(self) -> None:
        self._sampler = HostSampler("here")

    def read(self, child: Child) -> HostView:
        return self._sampler.read({child.process.pid: child.rank.start_ticks}, [child.rank])

    def look(self, child: Child, condition: Callable[[HostView], object], what: str) -> HostView:
        """Read until a reading that looked at the workers fits."""
        found: list[HostView] = []

        def fits() -> bool:
            view = self.read(child)
            if view.workers_age_s == 0 and condition(view):
                found.append(view)
            return bool(found)

        wait_until(fits, what)
        return found[-1]


def test_the_runs_own_work_is_seen_including_children_that_ended() -> None:
    sampler = HostSampler("here")
    with started("-c", _BURN_IN_CHILD, "0.4") as child:
        began = time.monotonic()
        sampler.read({child.process.pid: None})
        child.hear("done")
        view = sampler.read({child.process.pid: None})
        elapsed = time.monotonic() - began
    assert view.run_busy is not None
    assert view.cpu_busy is not None
    assert view.others_busy is not None
    assert 0.3 < view.run_busy * elapsed < 0.7
    assert view.sampler_cpu_share is not None
    assert view.cores == len(os.sched_getaffinity(0))
    assert 0 < view.memory_used_mib < view.memory_total_mib  # type: ignore[operator]


def test_a_process_confined_to_one_cpu_has_one_core() -> None:
    cpu = min(os.sched_getaffinity(0))
    code = f"import os, sys; os.sched_setaffinity(0, {{{cpu}}}); print('ready', flush=True); sys.stdin.read()"
    with started("-c", code) as child:
        child.hear("ready")
        view = Reader().read(child)
    assert view.cores == 1.0
    assert view.cpus is not None
    assert view.cpus <= 1.0


_RECEIVE = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0)) if sys.argv[1] == "tcp" else None
ours, theirs = socket.socketpair()
if listener is not None:
    ours = socket.create_connection(listener.getsockname())
print("ready", flush=True)
ours.recv(1) if sys.argv[1] != "pipe" else os.read(0, 1)
"""


@pytest.mark.parametrize(("what", "waits"), [("tcp", True), ("unix", True), ("pipe", False)])
def test_a_process_that_receives_from_a_socket_is_seen_to_wait_for_it(what: str, waits: bool) -> None:
    with started("-c", _RECEIVE, what) as child:
        child.hear("ready")
        pid, deadline = child.process.pid, time.monotonic() + 20
        while (place := asleep_in(Path("/proc"), pid, "S")) is None and time.monotonic() < deadline:
            time.sleep(0.05)  # it does not sleep yet
    told = waits_for_socket(place)
    if told is None:
        pytest.skip("this kernel does not tell where a thread sleeps")
    assert told is waits


_WAIT_FOR_A_LOCK = """
import fcntl, multiprocessing, os, sys, tempfile, threading
where = tempfile.TemporaryFile()
held = {"process": multiprocessing.Lock, "thread": threading.Lock}.get(sys.argv[1], threading.Lock)()
held.acquire()
if sys.argv[1] == "file":
    fcntl.lockf(where, fcntl.LOCK_EX)
pid = os.fork()
if not pid:
    fcntl.lockf(where, fcntl.LOCK_EX) if sys.argv[1] == "file" else held.acquire()
    os._exit(0)
print(pid, flush=True)
sys.stdin.read()
os.kill(pid, 9)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize(("what", "waits"), [("process", True), ("file", True), ("thread", False)])
def test_a_process_that_waits_for_a_lock_of_anothers(what: str, waits: bool) -> None:
    with started("-c", _WAIT_FOR_A_LOCK, what) as child:
        assert child.process.stdout is not None
        pid, deadline, told = int(child.process.stdout.readline()), time.monotonic() + 20, None
        child.note_family()
        while told is not waits and time.monotonic() < deadline:
            told = waits_for_lock(Path("/proc"), pid, asleep_in(Path("/proc"), pid, "S"))
            time.sleep(0.05)  # it may not sleep yet
    if told is None:
        pytest.skip("this kernel does not tell what a thread waits for, or not to everybody")
    assert told is waits


_KEEP = """
import os, sys
block = bytearray(64 << 20)
for at in range(0, len(block), 4096): block[at] = 1
child = os.fork()
if child: print(child, flush=True)
for line in sys.stdin if not child else ():
    for at in range(0, len(block), 4096): block[at] = 2
    print("done", flush=True)
os.waitpid(child, 0) if child else None
"""


def test_pages_that_a_forked_child_writes_to_become_its_own() -> None:
    with started("-c", _KEEP) as child:
        assert child.process.stdout is not None
        pid = int(child.process.stdout.readline())
        child.note_family()
        before = read_private_mib(Path("/proc"), pid)
        child.do("write")
        after = read_private_mib(Path("/proc"), pid)
    if before is None or after is None:
        pytest.skip("this kernel has no /proc/PID/smaps_rollup")
    assert before < 16
    assert after - before > 60


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_each_start_method_are_found_seen_busy_and_seen_to_end(method: str) -> None:
    reader = Reader()
    with started(LOADER, method, "2", "burn") as child:
        child.hear("ready")
        reader.look(child, lambda view: len(view.workers) == 2, "both workers are found")
        child.ask("1000000")
        busy = reader.look(
            child, lambda view: all((worker.cpu_share or 0) > 0.02 for worker in view.workers), "they work"
        )
        assert {worker.rank for worker in busy.workers} == {0}
        pids = {worker.pid for worker in busy.workers}
        for worker in busy.workers:
            _check_worker(worker)
        assert busy.run_processes is not None
        assert busy.run_processes >= 3
        child.note_family()
        killed = min(pids)
        os.kill(killed, signal.SIGKILL)
        gone = reader.look(
            child, lambda view: any(worker.gone for worker in view.workers), "the killed one is shown as gone"
        )
        assert killed in [worker.pid for worker in gone.workers if worker.gone]
        later = reader.look(child, lambda _: True, "the next look")
        assert killed not in [worker.pid for worker in later.workers]


def _check_worker(worker: WorkerView) -> None:
    assert worker.found_by == ("name" if names_workers(torch.__version__) else "kin")
    assert worker.state in "RSD"
    assert worker.cpu_share is not None
    assert worker.cpu_share < len(os.sched_getaffinity(0)) + 0.5
    assert worker.cpu_wait_share is None or 0 <= worker.cpu_wait_share <= 1
    assert worker.rss_mib is not None
    assert worker.shared_mib is not None
    assert 0 < worker.shared_mib <= worker.rss_mib
    assert worker.threads is not None
    assert worker.threads_running is not None
    assert 0 <= worker.threads_running <= worker.threads
    assert worker.minor_faults_per_s is not None
    assert worker.alive_s is not None
    assert worker.alive_s < 600
    assert worker.cores == len(os.sched_getaffinity(0))


@pytest.mark.slow
def test_what_workers_read_is_theirs_and_the_caches_when_the_file_was_read_before(tmp_path: Path) -> None:
    if read_io(Path("/proc"), os.getpid()) is None:
        pytest.skip("this kernel keeps no /proc/PID/io")
    file = tmp_path / "sample"
    file.write_bytes(os.urandom(4 * MIB))
    file.read_bytes()
    reader = Reader()
    with started(LOADER, "fork", "2", "read", str(file)) as child:
        child.hear("ready")
        reader.look(child, lambda view: len(view.workers) == 2, "both workers are found")
        child.do("20")
        read = reader.look(child, lambda view: view.cached_read_share is not None, "reads are counted")
    assert read.run_read_mib_s is not None
    assert sum(worker.read_mib_s or 0 for worker in read.workers) > 1
    assert read.cached_read_share is not None
    assert read.cached_read_share > 0.95


def test_reads_that_the_cache_cannot_answer_come_from_storage(tmp_path: Path) -> None:
    file = tmp_path / "sample"
    file.write_bytes(os.urandom(8 * MIB))
    os.sync()
    reader = Reader()
    with started("-c", _READ, str(file), "3") as child:
        child.hear("ready")
        before = read_io(Path("/proc"), child.process.pid)
        if before is None:
            pytest.skip("this kernel keeps no /proc/PID/io")
        reader.look(child, lambda _: True, "a first look")
        child.do("cold")
        after = read_io(Path("/proc"), child.process.pid)
        assert after is not None
        if after.less(before).from_storage < 20 * MIB:
            pytest.skip("this file system keeps its files in memory")
        cold = reader.look(child, lambda view: view.run_read_mib_s, "the reads from storage")
        assert after.less(before).called >= 24 * MIB
        assert cold.cached_read_share is not None
        assert cold.cached_read_share < 0.2
        assert cold.run_storage_read_mib_s is not None
        assert cold.run_read_mib_s is not None
        assert cold.run_storage_read_mib_s == pytest.approx(cold.run_read_mib_s, rel=0.2)
        child.do("warm")  # fills the cache
        reader.look(child, lambda view: view.run_read_mib_s, "the last reads from storage")
        child.do("warm")
        warm = reader.look(child, lambda view: view.run_read_mib_s, "the reads from the cache")
        assert warm.run_storage_read_mib_s is not None
        assert warm.run_storage_read_mib_s < 0.1
