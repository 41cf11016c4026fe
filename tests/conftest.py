"""What every test may use, and the promise that none leaves a process behind."""

import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from perftui.trainer.telemetry.processes import all_pids

_MARK = "TESTED_BY"  # not one of PERFTUI_…: launches take those out of the environment
_TOKEN = secrets.token_hex(8)
_LINGER_S = 15.0


# What a shell starts in the background ignores both, and so would every process of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@dataclass(frozen=True)
class RuntimeDirs:
    """Folders of one test: sockets below `runtime`, runs and ledger below `state`."""

    runtime: Path
    state: Path


@pytest.fixture
def runtime_dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RuntimeDirs]:
    runtime = Path(tempfile.mkdtemp(prefix="pt-"))  # short: a socket's path has 107 bytes at most
    monkeypatch.setenv("PERFTUI_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield RuntimeDirs(runtime, tmp_path / "state")
    shutil.rmtree(runtime)


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Every process that descends from a test carries a mark in its environment: none may outlive them.

    A training that is killed, and torchrun always, leaves temporary folders: all of them go with one.
    """
    temporary = tempfile.mkdtemp(prefix="pt-")
    os.environ |= {_MARK: _TOKEN, "TMPDIR": temporary, "PERFTUI_RUNTIME_DIR": f"{temporary}/r"}
    yield
    deadline = time.monotonic() + _LINGER_S
    while (left := _marked()) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(temporary, ignore_errors=True)
    assert not left, f"processes left behind by tests: {left}"


def _marked() -> dict[int, str]:
    found: dict[int, str] = {}
    entry = f"{_MARK}={_TOKEN}".encode()
    for pid in all_pids():
        if pid == os.getpid():
            continue
        try:
            if entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # ended meanwhile, or not ours to read
            continue
    return found
