"""Somebody removes a run's folder while it goes on: whoever waits for its end still gets its exit code."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.places import run_places
from perftui.ipc.run_files import RunDescription, read_record
from perftui.trainer.launch.runs import list_runs
from tests.launch.entry import ENTRY

Until = Callable[..., None]
Running = tuple["subprocess.Popen[bytes]", RunDescription]

pytestmark = [pytest.mark.slow]

GOES_ON = """
import signal, sys, time
from pathlib import Path
def interrupted(number, frame):
    print("interrupted", flush=True)
    sys.exit(9)
signal.signal(signal.SIGINT, interrupted)
print("begun", flush=True)
while not Path(sys.argv[0]).with_name("may_end").exists():
    time.sleep(0.02)
print("whole", flush=True)
sys.exit(7)
"""


@pytest.fixture
def removed(home: Path, until: Until) -> Iterator[Running]:
    """Return a foreground, and its run, whose folder is gone by now."""
    (home / "train.py").write_text(GOES_ON)
    summary = str(home / "summary.json")
    with subprocess.Popen(
        [*ENTRY, "run", "--no-tui", "--json", summary, "--", "python", str(home / "train.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        (line,) = list_runs()
        places = run_places(line.run_id)
        until((places.runtime / "dash.sock").exists, "its hub is there")
        description = read_record(places.description, RunDescription)
        assert description is not None
        shutil.rmtree(places.state.parent)
        yield process, description
        process.kill()


def test_its_exit_code_and_its_summary_come(home: Path, removed: Running, until: Until) -> None:
    process, description = removed
    (home / "may_end").touch()
    out, error = process.communicate(timeout=40)
    assert (process.returncode, out) == (7, b"whole\n"), error
    last = error.decode().splitlines()[-1]
    assert description.run_id in last
    assert "exit code 7" in last
    assert json.loads((home / "summary.json").read_bytes())["exit_code"] == 7
    until(lambda: [line.run_id for line in list_runs()] == [description.run_id], "it is listed")


def test_an_interrupt_reaches_it(removed: Running) -> None:
    process, _ = removed
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=40)
    assert (process.returncode, out) == (9, b"interrupted\n"), error


def test_who_waits_learns_that_its_keeper_was_killed(home: Path, removed: Running) -> None:
    process, description = removed
    os.kill(description.keeper_pid or 0, signal.SIGKILL)
    _, error = process.communicate(timeout=40)
    assert process.returncode == 1
    assert "lost" in error.decode().splitlines()[-1]
    (home / "may_end").touch()
