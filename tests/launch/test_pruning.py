"""What ended runs leave on the disk stays within its bound: oldest first, and never what somebody needs."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perftui.ipc.errors import PerftuiError, UsageError
from perftui.ipc.hub_lock import take_hub_lock
from perftui.ipc.places import RunPlaces, ledger_path, make_run_places, state_root
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.trainer.launch.pruning import (
    EndedRun,
    Keep,
    beyond,
    keep_of,
    prune,
    take_word_of_pruning,
)
from perftui.trainer.launch.start import wait_for_exit
from perftui.trainer.tuning.evidence import evidence_runs
from perftui.trainer.tuning.ledger import open_ledger
from tests.made_ledger import made_comparison, made_launch

Start = Callable[..., RunPlaces]
Script = Callable[[str], list[str]]
Until = Callable[..., None]
LONG_AGO = 7200.0


def ended_run(name: str, number: int, size: int = 1000, **more: object) -> RunPlaces:
    """Make the folder of a run that ended long ago; a higher number is newer."""
    places = make_run_places(name)
    fields: dict[str, object] = {
        "run_id": name,
        "name": name,
        "command": ["python"],
        "cwd": "/",
        "host": socket.gethostname(),
        "started_unix": 1000.0 + number,
        **more,
    }
    write_record(places.description, RunDescription(**fields))  # type: ignore[arg-type]
    write_record(places.exit_record, ExitRecord(exit_code=0, ended_unix=1001.0 + number))
    (places.recording / "0.rec").write_bytes(bytes(size))
    at = time.time() - LONG_AGO
    os.utime(places.state, (at, at))
    places.runtime.rmdir()
    return places


def left() -> list[str]:
    return sorted(path.name for path in (state_root() / "runs").iterdir())


@given(
    st.lists(st.builds(EndedRun, st.uuids().map(str), st.floats(0, 9), st.integers(0, 50)), max_size=12),
    st.none() | st.integers(0, 8),
    st.none() | st.integers(0, 200),
)
def test_what_stays_is_the_newest_and_within_the_bound(
    runs: list[EndedRun], most: int | None, size: int | None
) -> None:
    gone = beyond(runs, Keep(most, size))
    stays = [run for run in runs if run not in gone]
    assert most is None or len(stays) <= most
    assert size is None or sum(run.size_bytes for run in stays) <= size
    if gone and stays:
        assert max(run.started_unix for run in gone) <= min(run.started_unix for run in stays)
    if gone:  # no more than had to be: the newest that went would not have fitted
        assert (most is not None and len(stays) + 1 > most) or (
            size is not None and sum(run.size_bytes for run in stays) + gone[-1].size_bytes > size
        )
    assert [run.started_unix for run in gone] == sorted(run.started_unix for run in gone)


def test_the_oldest_go_and_the_user_is_told_once(home: Path) -> None:
    for number in range(5):
        ended_run(f"run-{number}", number)
    assert [run.run_id for run in prune(Keep(runs=3, size_bytes=None), set)] == ["run-0", "run-1"]
    assert left() == ["run-2", "run-3", "run-4"]
    told = take_word_of_pruning()
    assert told is not None
    assert "the folders of 2 ended runs" in told
    assert "PERFTUI_KEEP_RUNS" in told
    assert take_word_of_pruning() is None
    assert [run.run_id for run in prune(Keep(runs=2, size_bytes=None), set)] == ["run-2"]
    assert take_word_of_pruning() is None


def test_size_counts(home: Path) -> None:
    for number in range(4):
        ended_run(f"run-{number}", number, size=1_000_000)
    gone = prune(Keep(runs=None, size_bytes=2_500_000), set)
    assert [run.run_id for run in gone] == ["run-0", "run-1"]
    assert all(run.size_bytes > 1_000_000 for run in gone)


def test_what_somebody_needs_stays(home: Path, start: Start, script: Script, until: Until) -> None:
    go = home / "go"
    live = start(script(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(.02)"))
    description = read_record(live.description, RunDescription)
    assert description is not None
    write_record(live.description, msgspec.structs.replace(description, parent="parent"))
    at = time.time() - LONG_AGO
    os.utime(live.state, (at, at))
    ended_run("parent", 0)
    ended_run("elsewhere", 1, host="another-host")
    served = ended_run("served", 2)
    served.runtime.mkdir()
    lock = take_hub_lock(served.hub_lock)
    young = ended_run("young", 3)
    os.utime(young.state)
    ended_run("evidence", 4)
    (state_root() / "runs" / "Not a run").mkdir()
    (state_root() / "runs" / "empty-one").mkdir()
    outside = home / "outside"
    outside.mkdir()
    (state_root() / "runs" / "linked").symlink_to(outside)
    ended_run("nobody-s", 5)
    before = left()
    try:
        assert [run.run_id for run in prune(Keep(0, 0), lambda: {"evidence"})] == ["nobody-s"]
    finally:
        assert lock is not None
        os.close(lock)
    assert left() == [name for name in before if name != "nobody-s"]
    go.touch()
    assert wait_for_exit(live, 30) is not None


@pytest.mark.parametrize("what", ["recording", "segment", "console"])
def test_a_live_run_whose_hub_is_not_seen_from_here_stays(home: Path, what: str) -> None:
    """Another runtime folder, or a /tmp of its own: what it writes tells that it lives."""
    places = ended_run("armed", 0, owned=False)
    segment = places.recording / "0.rec"
    places.exit_record.unlink()
    places.console.touch()
    at = time.time() - LONG_AGO
    for path in (segment, places.recording, places.console, places.state):
        os.utime(path, (at, at))
    os.utime({"recording": places.recording, "segment": segment, "console": places.console}[what])
    assert prune(Keep(0, 0), set) == []
    os.utime({"recording": places.recording, "segment": segment, "console": places.console}[what], (at, at))
    assert [run.run_id for run in prune(Keep(0, 0), set)] == ["armed"]


def test_what_the_ledger_stands_on_is_known(home: Path) -> None:
    assert evidence_runs() == set()
    launches = [made_launch(run_id="trial-a"), made_launch(run_id="trial-b")]
    line = made_comparison("c", *launches, parent="before", successor="after")
    with open_ledger(ledger_path()) as ledger:
        ledger.append(line)
    assert evidence_runs() - {""} == {"trial-a", "trial-b", "before", "after"}


def test_a_ledger_that_cannot_be_read_keeps_everything(home: Path) -> None:
    ended_run("run-0", 0)
    state_root().mkdir(exist_ok=True)
    ledger_path().write_bytes(b"this is no ledger, it is a text of some length " * 50)
    with pytest.raises(PerftuiError):
        prune(Keep(0, 0), evidence_runs)
    assert left() == ["run-0"]


def test_killed_while_it_removes(home: Path) -> None:
    """What is left has no run's name, is listed nowhere, and goes the next time."""
    places = ended_run("run-0", 0)
    for number in range(3000):
        (places.profiles / f"{number}.json").touch()
    os.utime(places.state, (1.0, 1.0))
    program = (
        "from perftui.trainer.launch.pruning import Keep, prune\n"
        "print('.', flush=True)\nprune(Keep(0, 0), set)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 20
    while places.state.exists() and time.monotonic() < deadline:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left() in ([], [".removed-run-0"])
    prune(Keep(0, 0), set)
    assert left() == []


@pytest.mark.parametrize(
    ("environment", "keep"),
    [
        ({}, Keep(100, 5 * 10**9)),
        ({"PERFTUI_KEEP_RUNS": "0", "PERFTUI_KEEP_GB": "0.5"}, Keep(0, 500_000_000)),
        ({"PERFTUI_KEEP_RUNS": "all", "PERFTUI_KEEP_GB": "all"}, Keep(None, None)),
    ],
)
def test_how_much_is_kept(environment: dict[str, str], keep: Keep) -> None:
    assert keep_of(environment) == keep


@pytest.mark.parametrize("text", ["some", "-1", "nan", "inf"])
def test_nonsense_is_told_before_a_run_begins(text: str) -> None:
    with pytest.raises(UsageError, match=f"PERFTUI_KEEP_GB={text}: expected a number of at least 0, or all"):
        keep_of({"PERFTUI_KEEP_GB": text})
