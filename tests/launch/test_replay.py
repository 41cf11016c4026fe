"""How long a recording is served: as long as the process that shows it lives, looking or suspended."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perftui.ipc.places import run_places
from perftui.ipc.recording import Entry, RecordingWriter
from tests.conftest import RuntimeDirs
from tests.hub.made_messages import START_UNIX, batch, hello
from tests.processes import processes_below
from tests.waiting import wait_until

SHOWN = """
import sys, time
from pathlib import Path
from perftui.trainer.launch.replay import replayed
with replayed(Path(sys.argv[1]), at_end=True) as run_id:
    print(run_id, flush=True)
    time.sleep(600)
"""
NOBODY_LOOKS = """
import os, sys
from pathlib import Path
from perftui.ipc.places import make_run_places
from perftui.trainer.hub import replay_run
replay_run._IDLE_END_S = 0.3
parent = os.getppid() if sys.argv[2] == "a child" else None
places = make_run_places("replay-1")
replay_run.serve_replay(places, Path(sys.argv[1]), at_end=True, speed=1.0, child_of=parent)
"""


@pytest.fixture
def recorded(home: Path) -> Path:
    """The folder of a short recording."""
    (home / "recording").mkdir()
    writer = RecordingWriter(home / "recording", 1024 * 1024)
    writer.append(Entry(unix=START_UNIX, message=hello()))
    writer.append(Entry(unix=START_UNIX + 1, message=batch(0, 10, seq=1)))
    writer.close()
    return home


def test_a_replay_ends_with_the_process_that_shows_it(recorded: Path, runtime_dirs: RuntimeDirs) -> None:
    shows = subprocess.Popen([sys.executable, "-c", SHOWN, str(recorded)], stdout=subprocess.PIPE)
    assert shows.stdout is not None
    assert shows.stdout.readline().startswith(b"replay-")
    assert len(processes_below(runtime_dirs.state)) == 1
    shows.kill()
    shows.wait()
    shows.stdout.close()
    wait_until(lambda: not processes_below(runtime_dirs.state), "the replay's end", 5)


def test_a_replay_that_nobody_looks_at_goes_on_for_the_process_that_began_it(recorded: Path) -> None:
    words = [sys.executable, "-c", NOBODY_LOOKS, str(recorded), "a child"]
    with subprocess.Popen(words) as hub:
        socket = Path(run_places("replay-1").dashboard_socket.removeprefix("ipc://"))
        wait_until(socket.exists, "the replay is served", 30)
        time.sleep(1.5)
        assert hub.poll() is None
        os.kill(hub.pid, 15)
    assert hub.returncode == 0


def test_one_that_no_process_has_begun_for_itself_ends_when_nobody_looks(recorded: Path) -> None:
    words = [sys.executable, "-c", NOBODY_LOOKS, str(recorded), "nobody's"]
    assert subprocess.run(words, check=False, timeout=60).returncode == 0
