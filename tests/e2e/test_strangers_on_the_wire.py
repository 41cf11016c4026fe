"""What stands, lies or hangs about the sockets of a run: half-open peers, stale files, a broken recording."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.zmtp import greeting, ready
from tests.conftest import RuntimeDirs
from tests.waiting import wait_until

from .conftest import Desk
from .phased import STEPS, Phased

pytestmark = [pytest.mark.torch, pytest.mark.slow]

BEGINNINGS = [
    b"",
    greeting()[:5],
    greeting(),
    greeting() + ready("half"),
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(5000),
]
_EACH = 40


def _path(address: str) -> str:
    return address.removeprefix("ipc://")


def _half_open(stack: ExitStack, places: RunPlaces) -> Iterator[socket.socket]:
    for address in (places.dashboard_socket, places.rank_socket):
        for beginning in BEGINNINGS:
            for _ in range(_EACH):
                peer = stack.enter_context(socket.socket(socket.AF_UNIX))
                peer.connect(_path(address))
                peer.sendall(beginning)
                yield peer


def _memory_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.long
def test_hundreds_of_half_open_peers(desk: Desk) -> None:
    """They say nothing more and read nothing: the hub serves the others, and its memory stays."""
    training = Phased(desk)
    with ExitStack() as stack:

        def hang_about(phase: str) -> None:
            if phase != "training":
                return
            hub = desk.hub_pid(training.run_id)
            before = _memory_mib(hub)
            assert len(list(_half_open(stack, run_places(training.run_id)))) == 2 * len(BEGINNINGS) * _EACH
            wait_until(lambda: desk.steps(training.run_id) == 40, "all is told")
            assert desk.hub_pid(training.run_id) == hub
            assert _memory_mib(hub) - before < 30

        training.unharmed(hang_about)
    (rank,) = desk.status(training.run_id)["ranks"]
    assert (rank["steps"], rank["dropped"]) == (STEPS, 0)


@pytest.mark.long
def test_stale_sockets_and_a_broken_recording_after_a_killed_hub(desk: Desk) -> None:
    """The next hub takes the sockets' files over and what can be read of the recording, and says so."""
    training = Phased(desk)

    def kill_and_break(phase: str) -> None:
        if phase != "later":
            return
        places = run_places(training.run_id)
        wait_until(lambda: desk.steps(training.run_id) == 140, "all is told")
        keeper, hub = training.keeper_pid(), desk.hub_pid(training.run_id)
        os.kill(keeper, signal.SIGSTOP)  # so that no hub comes before all is broken
        os.kill(hub, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{hub}/fd").exists() or not _is_held(places), "its lock is free")
        assert Path(_path(places.dashboard_socket)).exists()
        (segment,) = places.recording.glob("*.rec")
        whole = segment.read_bytes()
        segment.write_bytes(whole[: len(whole) // 2] + os.urandom(2000))
        os.kill(keeper, signal.SIGCONT)
        wait_until(lambda: training.desk.status(training.run_id).get("ranks"), "the next hub serves")

    training.unharmed(kill_and_break, "--json", "out.json")
    (rank,) = desk.status(training.run_id)["ranks"]
    assert rank["steps"] == STEPS


def _is_held(places: RunPlaces) -> bool:
    return hub_lock_is_held(places.hub_lock)


def test_sockets_that_others_have_left_are_no_hindrance(runtime_dirs: RuntimeDirs) -> None:
    """Files, sockets nobody listens on and a lock nobody holds, where a run's hub will bind."""
    places = run_places("left-behind")
    places.runtime.mkdir(parents=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(_path(places.dashboard_socket))
    listener.close()
    Path(_path(places.rank_socket)).write_text("")
    places.hub_lock.write_text("4242")
    hub = HubSockets(places)
    try:
        assert _is_held(places)
    finally:
        hub.close()
