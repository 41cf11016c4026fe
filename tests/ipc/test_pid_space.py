"""Where pids that another process wrote down mean processes."""

import shutil
import socket
import subprocess
import sys

import pytest

from perftui.ipc import pid_space
from perftui.ipc.pid_space import own_pid_space, pids_mean_processes

HERE = socket.gethostname()
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]


@pytest.mark.parametrize(
    ("host", "space", "known"),
    [
        (HERE, "boot 1", True),
        ("renamed-since", "boot 1", True),
        (HERE, "boot 2", False),  # a container that shares the network, and with it the name
        ("a-container", "boot 2", False),
        (HERE, "earlier-boot 1", True),  # what was alive then is not now
        ("node17", "other-boot 1", False),  # the first namespace of pids has one number on all hosts
        (HERE, None, True),
        ("node17", None, False),
    ],
)
def test_whether_pids_can_be_looked_up(
    host: str, space: str | None, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pid_space, "own_pid_space", lambda: "boot 1")
    assert pids_mean_processes(host, space) is known


def test_where_the_system_does_not_tell_the_name_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pid_space, "own_pid_space", lambda: None)
    assert pids_mean_processes(HERE, "boot 1")
    assert not pids_mean_processes("node17", "boot 1")


def test_a_namespace_of_its_own_is_another_space_on_the_same_boot() -> None:
    if shutil.which("unshare") is None or subprocess.run([*UNSHARE, "true"], check=False).returncode:
        pytest.skip("no namespaces here")
    code = "from perftui.ipc.pid_space import own_pid_space; print(own_pid_space())"
    inside = subprocess.run(
        [*UNSHARE, sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    own = own_pid_space()
    assert own is not None
    assert inside != own
    assert inside.split()[0] == own.split()[0]
    assert not pids_mean_processes(HERE, inside)
