"""A process that closes all its descriptors, again and again, while its link to the hub is in use."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.ipc.codec import decode_from_rank
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import RunPlaces, make_run_places
from tests.conftest import RuntimeDirs

CLOSES = """
import os, resource, sys, threading, time
from perftui.ipc.messages import Beat
from perftui.ipc.rank_link import RankLink, rank_identity

resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def own_link():
    link = RankLink(sys.argv[1], rank_identity(0, os.getpid()))
    for seq in range(300):
        while not link.send(Beat(run_id="closed-1", host="h", rank=0, seq=seq, at_ns=seq, step=seq)):
            link.wait(5)
        link.wait(2)
    link.flush(20)

talking = threading.Thread(target=own_link)
talking.start()
files = []
while talking.is_alive():
    time.sleep(0.02)
    os.closerange(3, 4096)
    files.clear()
    while not files or files[-1] < 1010:  # the numbers are taken by files at once, high ones too
        files.append(os.open(sys.argv[2], os.O_RDWR | os.O_CREAT))
os._exit(0)
"""
STEALS = """
import os, sys
from perftui.ipc.messages import Beat
from perftui.ipc.rank_link import RankLink, rank_identity

def beat(seq):
    return Beat(run_id="closed-1", host="h", rank=0, seq=seq, at_ns=seq, step=seq)

link = RankLink(sys.argv[1], rank_identity(0, os.getpid()))
assert link.send(beat(0)) and link.drain(20)
(ours,) = [number for number in map(int, os.listdir("/proc/self/fd")) if number >= 900]
mine = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
os.dup2(mine, ours)
for seq in (1, 2, 3):
    assert link.send(beat(seq)) and link.drain(20)
link.close()
os.write(ours, b"the script's own")
print(ours)
"""


@pytest.fixture
def places(runtime_dirs: RuntimeDirs) -> RunPlaces:
    return make_run_places("closed-1")


@pytest.fixture
def hub(places: RunPlaces) -> Iterator[HubSockets]:
    sockets = HubSockets(places)
    yield sockets
    sockets.close()


def _steps_heard(hub: HubSockets, process: "subprocess.Popen[str]") -> set[int]:
    heard: set[int] = set()
    while process.poll() is None:
        heard |= {decode_from_rank(arrival.frame).seq for arrival in hub.arrivals(50)}
    return heard | {decode_from_rank(arrival.frame).seq for arrival in hub.arrivals(500)}


def _start(script: str, places: RunPlaces, file: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, places.rank_socket, str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_nothing_aborts_and_the_frames_go_on(places: RunPlaces, hub: HubSockets, tmp_path: Path) -> None:
    process = _start(CLOSES, places, tmp_path / "file")
    heard = _steps_heard(hub, process)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")
    assert max(heard) == 299
    assert len(heard) > 250, "a frame that the system had taken may be lost with its connection, no more"
    assert (tmp_path / "file").read_bytes() == b""


def test_a_number_that_names_a_file_now_is_left_alone(
    places: RunPlaces, hub: HubSockets, tmp_path: Path
) -> None:
    process = _start(STEALS, places, tmp_path / "file")
    heard = _steps_heard(hub, process)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert heard == {0, 1, 2, 3}
    assert (tmp_path / "file").read_bytes() == b"the script's own"
    assert int(out) >= 1000, "a high number: low ones are given out first"


def test_one_descriptor_and_no_thread_beside_the_callers(places: RunPlaces, hub: HubSockets) -> None:
    script = STEALS.partition("(ours,)")[0] + (
        "print(len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')), 'zmq' in sys.modules)"
    )
    process = _start(script, places, Path(os.devnull))
    _steps_heard(hub, process)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert out.split() == ["5", "1", "False"]  # three streams, the link, and the listing's own
