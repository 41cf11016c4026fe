"""Listing runs and finding the one that is meant."""

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import NoSuchRun, UsageError
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import RunPlaces, make_run_places, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, write_record
from perftui.ipc.run_lines import RunLine
from perftui.trainer.launch.foreground import after_dashboard
from perftui.trainer.launch.run_names import name_of, new_run_id
from perftui.trainer.launch.runs import find_run, list_runs, only_run, running, successor_of, watchable
from tests.launch.entry import ENTRY


def line(run_id: str, name: str = "train", state: str = "finished", *, trial: bool = False) -> RunLine:
    return RunLine(
        run_id=run_id, name=name, pid=None, state=state, started=0.0, command=["x"], trial=trial, parent="old"
    )


LINES = [
    line("train-3-ccc", state="running"),
    line("train-2-bbb"),
    line("train-1-aaa"),
    line("other-1-ddd", "other", state="running"),
    line("train-trial-1-eee", "train-trial-1", state="running", trial=True),
]


@pytest.mark.parametrize(
    ("word", "run_id"),
    [
        ("train-1-aaa", "train-1-aaa"),
        ("train-1", "train-1-aaa"),
        ("train", "train-3-ccc"),
        ("other", "other-1-ddd"),
        ("train-trial-1", "train-trial-1-eee"),
    ],
)
def test_a_word_means_one_run(word: str, run_id: str) -> None:
    assert find_run(word, LINES).run_id == run_id


def test_words_that_mean_none_or_several() -> None:
    with pytest.raises(NoSuchRun, match="perftui run"):
        find_run("nothing", LINES)
    with pytest.raises(NoSuchRun, match=r"perftui run -- python src/train\.py$"):
        find_run("src/train.py", LINES)
    with pytest.raises(UsageError, match="fits 2 runs: train-2-bbb, train-1-aaa"):
        find_run("trai", LINES[1:3])
    with pytest.raises(UsageError, match="2 runs are alive"):
        only_run(LINES)
    with pytest.raises(NoSuchRun, match="perftui run"):
        only_run(LINES[1:3])
    assert only_run(LINES[:3]).run_id == "train-3-ccc"
    assert successor_of("old", LINES[3:]) == LINES[3]


def test_live_and_ended_runs_are_listed_newest_first(
    start: Callable[..., RunPlaces],
    script: Callable[[str], list[str]],
    ended: Callable[[RunPlaces], ExitRecord],
    home: Path,
    until: Callable[..., None],
) -> None:
    first = start(script("raise SystemExit(3)"))
    ended(first)
    go = home / "go"
    second = start(script(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(.02)"))
    newest, oldest = list_runs()
    assert (newest.run_id, newest.state, oldest.run_id, oldest.state) == (
        second.run_id, "running", first.run_id, "failed",
    )  # fmt: skip
    assert newest.pid is not None
    assert oldest.pid is None
    done = subprocess.run([*ENTRY, "ls", "--json"], capture_output=True, check=True)
    listed = json.loads(done.stdout)
    assert listed["schema"] == 1
    assert {"run_id", "name", "pid", "state", "started", "command"} <= set(listed["runs"][0])
    go.touch()
    ended(second)


def test_a_run_of_someone_elses_launch_lives_while_its_hub_does(home: Path) -> None:
    places = make_run_places("watched-run")
    description = RunDescription(
        run_id="watched-run",
        name="watched",
        command=["python"],
        cwd="/",
        host=socket.gethostname(),
        started_unix=1.0,
        owned=False,
    )
    write_record(places.description, description)
    sockets = HubSockets(places)
    assert [each.state for each in list_runs()] == ["running"]
    sockets.close()
    assert [each.state for each in list_runs()] == ["lost"]
    write_record(places.exit_record, ExitRecord(exit_code=0, ended_unix=2.0))
    assert [each.state for each in list_runs()] == ["finished"]


def test_a_run_that_is_being_relaunched_can_be_watched_while_its_hub_lives(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = make_run_places("stopped-run")
    description = RunDescription(
        run_id="stopped-run", name="stopped", command=["x"], cwd="/", host="h", started_unix=1.0
    )
    write_record(places.description, description)
    record = ExitRecord(exit_code=-15, ended_unix=2.0, outcome="stopped", stopped_by="relaunch")
    write_record(places.exit_record, record)
    assert watchable(list_runs()) == []
    sockets = HubSockets(places)
    assert [each.run_id for each in watchable(list_runs())] == ["stopped-run"]
    assert running(list_runs()) == []
    assert after_dashboard(places, None) == 0
    assert "a change of stopped-run is being measured" in capsys.readouterr().err
    write_record(places.exit_record, msgspec.structs.replace(record, stopped_by="user"))
    assert watchable(list_runs()) == []
    sockets.close()


def test_leaving_a_dashboard_tells_of_the_last_run_of_a_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, parent in enumerate((None, "line-0", "line-1")):
        places = make_run_places(f"line-{number}")
        description = RunDescription(
            run_id=places.run_id,
            name="line",
            command=["x"],
            cwd="/",
            host="h",
            started_unix=float(number),
            parent=parent,
            owned=False,
        )
        write_record(places.description, description)
        if number < 2:
            ended = ExitRecord(exit_code=-15, ended_unix=2.0, outcome="stopped", stopped_by="relaunch")
            write_record(places.exit_record, ended)
    assert after_dashboard(run_places("line-0"), None) == 0
    assert "perftui line-2\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "-u", "some/train.py", "--lr", "1"], "train"),
        (["python3", "-m", "package.fit"], "fit"),
        (["torchrun", "--nproc-per-node=2", "ddp.py"], "ddp"),
        (["/opt/bin/tool", "x"], "tool"),
    ],
)
def test_names(command: list[str], name: str) -> None:
    assert name_of(command) == name
    assert new_run_id(name).startswith(f"{name}-")


def test_odd_names_become_ids_that_are_safe_paths() -> None:
    assert new_run_id("../Ünïcode name!!").startswith("n-code-name-")
    assert new_run_id("///").startswith("run-")
