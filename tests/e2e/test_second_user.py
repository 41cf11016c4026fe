"""A second Unix user can neither see nor command a run, nor put anything in its way that harms it."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.waiting import wait_until

from .conftest import PERFTUI
from .scripts import STARVED
from .users import OWNER, STRANGER, User, clear_runtime, made_user, why_not

pytestmark = pytest.mark.slow
_why = cache(why_not)

CONNECTS = """
import socket, sys
for path in sys.argv[1:]:
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path)
        print("connected")
    except OSError as error:
        print(type(error).__name__)
"""
COMMANDS = """
import sys
from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import StopCommand
from perftui.ipc.errors import ConnectionLost
link = DashboardLink("ipc://" + sys.argv[1])
try:
    print(link.ask(StopCommand(command_id=new_command_id()), 2.0))
except ConnectionLost:
    print("nobody answers")
try:
    print(link.snapshot(2.0))
except ConnectionLost:
    print("nobody answers")
link.close()
"""
SIGNALS = """
import os, signal, sys
for pid in map(int, sys.argv[1:]):
    for attempt in (lambda: os.kill(pid, signal.SIGSTOP), lambda: open(f"/proc/{pid}/environ", "rb").read()):
        try:
            attempt()
            print("done")
        except OSError as error:
            print(type(error).__name__)
"""
WORKS = """
import time
with open("work", "wb", buffering=0) as work:
    while True:
        work.write(b".")
        time.sleep(0.02)
"""
TRAINS = STARVED.replace('print("to stderr"', 'print(""')


@pytest.fixture
def shared() -> Iterator[Path]:
    """A temporary folder as /tmp is: everybody writes there, nobody removes what is another's."""
    if _why() is not None:
        pytest.skip(_why() or "")
    folder = Path(tempfile.mkdtemp(prefix="pt-", dir="/tmp"))
    folder.chmod(0o1777)
    clear_runtime()
    yield folder
    clear_runtime()
    shutil.rmtree(folder)


@pytest.fixture
def owner(shared: Path) -> User:
    return made_user(OWNER, shared, shared)


@pytest.fixture
def stranger(shared: Path) -> User:
    return made_user(STRANGER, shared, shared)


@pytest.fixture
def live(owner: User) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A run of the owner that goes on, and its process."""
    process = owner.start([*PERFTUI, "run", "--no-tui", "--", sys.executable, "-c", WORKS])
    wait_until(lambda: done_by(owner) > 5, "it works")
    run_id = str(runs_of(owner)[0]["run_id"])
    wait_until(lambda: list(owner.runtime.glob(f"{run_id}/dash.sock")), "its hub is there")
    yield run_id, process
    owner.run([*PERFTUI, "stop", run_id, "--now"])
    process.communicate(timeout=60)
    wait_until(lambda: not processes_of(OWNER), "all of it ends")


def runs_of(user: User) -> list[dict[str, object]]:
    done = user.run([*PERFTUI, "ls", "--json"])
    assert done.returncode == 0, done.stderr
    runs: list[dict[str, object]] = json.loads(done.stdout)["runs"]
    return [run for run in runs if run["state"] == "running"]


def done_by(user: User) -> int:
    """Return how much the run has done so far."""
    path = user.home / "work"
    return path.stat().st_size if path.exists() else 0


def processes_of(uid: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += [int(entry.name)] if entry.stat().st_uid == uid else []
            except OSError:
                continue
    return found


def state_of(user: User) -> Path:
    return user.home / ".local" / "state" / "perftui"


def test_a_run_is_neither_seen_nor_commanded(
    owner: User, stranger: User, shared: Path, live: tuple[str, "subprocess.Popen[str]"]
) -> None:
    run_id, _ = live
    runtime = owner.runtime / run_id
    assert (runtime / "dash.sock").exists()
    assert runs_of(stranger) == []
    for verb in ("status", "stop", "profile"):
        done = stranger.run([*PERFTUI, verb, run_id])
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
    for what in (runtime.parent, runtime, state_of(owner), state_of(owner) / "runs" / run_id):
        assert stranger.run(["ls", str(what)]).returncode != 0
    sockets = [str(runtime / name) for name in ("dash.sock", "ranks.sock")]
    assert stranger.python(CONNECTS, *sockets).stdout.split() == ["PermissionError"] * 2
    assert stranger.run(["sh", "-c", f"echo > {runtime}/x || echo > {runtime}/hub.lock"]).returncode != 0
    stop = state_of(owner) / "runs" / run_id / "stop.json"
    assert stranger.run(["sh", "-c", f"echo '{{}}' > {stop}"]).returncode != 0
    pids = [str(pid) for pid in processes_of(OWNER)]
    assert set(stranger.python(SIGNALS, *pids).stdout.split()) == {"PermissionError"}
    before = done_by(owner)
    wait_until(lambda: done_by(owner) > before + 10, "it works on")


@pytest.mark.long
def test_nothing_of_a_run_can_be_read_or_written_by_others(
    owner: User, shared: Path, live: tuple[str, "subprocess.Popen[str]"]
) -> None:
    """Whatever the umask: here it lets everybody read."""
    open_to_others: list[str] = []
    for root in (state_of(owner), owner.runtime):
        assert stat.S_IMODE(root.stat().st_mode) & 0o077 == 0
        for folder, _, files in os.walk(root):
            open_to_others += [
                f"{folder}/{name}"
                for name in files
                if name in ("ledger.sqlite", "dash.sock", "ranks.sock", "run.json", "stop.json", "hub.lock")
                and (Path(folder) / name).lstat().st_mode & 0o077
            ]
    assert open_to_others == []


@pytest.mark.long
def test_folders_left_open_do_not_open_the_sockets(
    owner: User, stranger: User, shared: Path, live: tuple[str, "subprocess.Popen[str]"]
) -> None:
    """Should the owner open his folders to everybody, the hub still asks the kernel who it is that speaks."""
    run_id, _ = live
    runtime = owner.runtime / run_id
    for path in (runtime.parent, runtime):
        path.chmod(0o777)
    for name in ("dash.sock", "ranks.sock"):
        (runtime / name).chmod(0o777)
    assert stranger.python(CONNECTS, str(runtime / "dash.sock")).stdout == "connected\n"
    assert stranger.python(COMMANDS, str(runtime / "dash.sock")).stdout == "nobody answers\n" * 2
    for path in (runtime.parent, runtime):
        path.chmod(0o700)
    before = done_by(owner)
    wait_until(lambda: done_by(owner) > before + 10, "it works on")


def a_folder(at: Path, _: User) -> None:
    at.mkdir(mode=0o777)
    at.chmod(0o777)
    os.chown(at, STRANGER, STRANGER)


def a_link_to_his_own(at: Path, _: User) -> None:
    mine = at.with_name(f"{at.name}-mine")
    a_folder(mine, _)
    at.symlink_to(mine)
    os.lchown(at, STRANGER, STRANGER)


def a_link_to_the_owner_s(at: Path, owner: User) -> None:
    theirs = owner.home / "papers"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, OWNER, OWNER)
    (theirs / "letter").write_text("dear")
    at.symlink_to(theirs)
    os.lchown(at, STRANGER, STRANGER)


def a_link_to_nothing(at: Path, _: User) -> None:
    at.symlink_to(at.with_name(f"{at.name} not there"))
    os.lchown(at, STRANGER, STRANGER)


def a_file(at: Path, _: User) -> None:
    at.write_text("")
    os.chown(at, STRANGER, STRANGER)


def a_pipe(at: Path, _: User) -> None:
    os.mkfifo(at, 0o666)
    os.chown(at, STRANGER, STRANGER)


IN_THE_WAY = [a_folder, a_link_to_his_own, a_link_to_the_owner_s, a_link_to_nothing, a_file, a_pipe]
QUICK = a_link_to_his_own


@pytest.mark.parametrize(
    "put",
    [
        pytest.param(put, id=put.__name__.replace("_", " "), marks=[] if put is QUICK else pytest.mark.long)
        for put in IN_THE_WAY
    ],
)
def test_what_stands_in_the_way_is_told_and_nothing_is_written_there(
    owner: User, shared: Path, put: Callable[[Path, User], None]
) -> None:
    at = owner.runtime
    put(at, owner)
    done = owner.run([*PERFTUI, "run", "--no-tui", "--", sys.executable, "-c", "print('trained')"])
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = [line for line in done.stderr.splitlines() if str(at) in line]
    assert "set PERFTUI_RUNTIME_DIR to" in line
    assert "Traceback" not in done.stderr
    assert not at.is_dir() or sorted(path.name for path in at.iterdir()) in ([], ["letter"])
    own = owner.home / "r"
    again = owner.run(
        [*PERFTUI, "run", "--no-tui", "--", sys.executable, "-c", "print('trained')"],
        PERFTUI_RUNTIME_DIR=str(own),
    )
    assert (again.returncode, again.stdout) == (0, "trained\n"), again.stderr
    wait_until(lambda: not processes_of(OWNER), "its hub ends")


@pytest.mark.torch
@pytest.mark.long
def test_an_armed_training_goes_on_whatever_stands_in_the_way(owner: User, shared: Path) -> None:
    """After `perftui env` no command of ours is there to refuse: the training itself must not notice."""
    a_link_to_his_own(owner.runtime, owner)
    script = owner.home / "train.py"
    script.write_text(TRAINS)
    command = [sys.executable, str(script), "60", "5", "0.002"]
    plain = owner.run(command)
    exports = owner.run([*PERFTUI, "env"]).stdout
    armed = owner.run(["bash", "-c", f'{exports}\nexec "$@"', "bash", *command])
    assert (armed.returncode, armed.stdout) == (5, plain.stdout), armed.stderr
    assert list(owner.runtime.with_name(f"{owner.runtime.name}-mine").iterdir()) == []
    assert processes_of(OWNER) == []


@pytest.mark.long
def test_a_stranger_s_lock_keeps_nobody_out(owner: User, stranger: User, shared: Path) -> None:
    """He can lock what he can open: nothing of the owner's."""
    done = owner.run([*PERFTUI, "run", "--no-tui", "--", sys.executable, "-c", "print('trained')"])
    assert done.returncode == 0, done.stderr
    program = (
        "import fcntl, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n        fcntl.flock(open(path, 'a'), fcntl.LOCK_EX)\n        print('locked')\n"
        "    except OSError as error:\n        print(type(error).__name__)\n"
    )
    paths = [owner.runtime / "arm.lock", state_of(owner) / "ledger.sqlite"]
    assert stranger.python(program, *map(str, paths)).stdout.split() == ["PermissionError"] * 2
    wait_until(lambda: not processes_of(OWNER), "its hub ends")
