"""Runs of other hosts and containers in a shared home: never lost, never ended, never cleared away."""

import json
import os
import socket
import time
from collections.abc import Callable

import msgspec
import pytest

from perftui.ipc.errors import NoSuchRun, Refused
from perftui.ipc.pid_space import own_pid_space
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.ipc.run_lines import RunLine
from perftui.trainer.launch import pruning
from perftui.trainer.launch.live import cancel_profile, profile, stop
from perftui.trainer.launch.orphans import end_orphans
from perftui.trainer.launch.pruning import Keep, prune
from perftui.trainer.launch.runs import list_runs, only_run
from perftui.trainer.launch.start import exit_of
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.subject import find_subject
from perftui.tui.cli import main
from perftui.tui.verbs import dashboard

HERE = socket.gethostname()
OWN = own_pid_space() or ""
ALIVE: dict[str, object] = {"keeper_pid": os.getpid(), "keeper_start_ticks": start_ticks(os.getpid())}
GONE: dict[str, object] = {"keeper_pid": os.getpid(), "keeper_start_ticks": 1}
ELSEWHERE: dict[str, dict[str, object]] = {
    "another host": {"host": "node17", "pid_space": "another-boot 4026531836"},
    "another host, not said by an older perftui": {"host": "node17", "pid_space": None},
    "a container with our name": {"host": HERE, "pid_space": f"{OWN.split()[0]} 1"},
    "a container with a name of its own": {"host": "3f2a9c", "pid_space": f"{OWN.split()[0]} 1"},
}


def described(run_id: str = "train-1", /, **more: object) -> RunPlaces:
    places = make_run_places(run_id)
    made = RunDescription(
        run_id=run_id, name="train", command=["python", "train.py"], cwd="/", host=HERE, started_unix=1.0,
        pid_space=OWN,
    )  # fmt: skip
    write_record(places.description, msgspec.structs.replace(made, **more))
    return places


def _never(_parsed: object) -> None:
    raise AssertionError("a dashboard is loaded")


def the_line() -> RunLine:
    (line,) = list_runs()
    return line


@pytest.mark.parametrize("keeper", [ALIVE, GONE], ids=["its pid lives here", "its pid is gone here"])
@pytest.mark.parametrize("where", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("owned", [True, False], ids=["owned", "not owned"])
def test_a_run_that_cannot_be_seen_is_elsewhere(
    where: dict[str, object], keeper: dict[str, object], owned: bool
) -> None:
    places = described(owned=owned, **where, **keeper)
    line = the_line()
    assert (line.state, line.running, line.pid, line.exit_code) == ("elsewhere", False, None, None)
    assert line.state_words == f"on {where['host']}, not seen from here"
    assert exit_of(places) is None


@pytest.mark.parametrize(
    ("where", "keeper", "state"),
    [
        ({}, ALIVE, "running"),
        ({}, GONE, "lost"),
        ({"pid_space": None}, ALIVE, "running"),
        ({"pid_space": None}, GONE, "lost"),
        ({"host": "called-so-before"}, ALIVE, "running"),
        ({"host": "called-so-before"}, GONE, "lost"),
        ({"pid_space": "boot-before 4026531836"}, GONE, "lost"),
    ],
)
def test_a_run_that_can_be_seen(where: dict[str, object], keeper: dict[str, object], state: str) -> None:
    described(**where, **keeper)
    assert the_line().state == state


def test_an_end_that_is_recorded_is_told_wherever_it_was() -> None:
    places = described(**ELSEWHERE["another host"])
    write_record(places.exit_record, ExitRecord(exit_code=3, ended_unix=2.0, outcome="failed"))
    line = the_line()
    assert (line.state, line.exit_code) == ("failed", 3)
    record = exit_of(places)
    assert record is not None
    assert record.exit_code == 3


@pytest.mark.parametrize("where", ELSEWHERE.values(), ids=ELSEWHERE)
def test_commands_say_where_it_is(where: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    places = described(**where, **GONE)
    line = the_line()
    there = f"train-1 is on {where['host']}, not seen from here: give this command there"
    for command in (
        lambda: stop(line, at_once=False),
        lambda: stop(line, at_once=True),
        lambda: profile(line, steps=3, ranks=None, preset="light", timeout_s=1.0),
        lambda: cancel_profile(line),
        lambda: find_subject(RelaunchPlan(run_id="train-1", set={"loader.num_workers": 2})),
    ):
        with pytest.raises(Refused, match=there):
            command()
    assert main(["tune", "train-1"]) == 4
    assert there in capsys.readouterr().err
    assert main(["ls"]) == 0
    assert f"on {where['host']}, not seen from here" in capsys.readouterr().out
    assert main(["status", "train-1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["state"], summary["exit_code"]) == ("elsewhere", None)
    assert summary["message"] == f"it is on {where['host']}, not seen from here: ask there"
    assert not places.stop_request.exists()


def test_no_dashboard_opens_on_it_as_on_an_ended_run(monkeypatch: pytest.MonkeyPatch) -> None:
    described(**ELSEWHERE["another host"], **GONE)
    monkeypatch.setattr(dashboard, "check_size", lambda: None)
    monkeypatch.setattr(dashboard, "load_dashboard", _never)
    with pytest.raises(Refused, match="train-1 is on node17, not seen from here"):
        dashboard._open(the_line(), None)  # type: ignore[arg-type]
    with pytest.raises(NoSuchRun, match="alive on this host"):
        only_run(list_runs())


@pytest.mark.parametrize("where", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_live_trial_is_not_ended_and_nothing_is_pruned(
    where: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = described("train-0")
    write_record(parent.exit_record, ExitRecord(exit_code=0, ended_unix=2.0))
    trial = described("train-trial-1", trial=True, parent="train-0", **where, **GONE)
    monkeypatch.setattr(pruning, "_YOUNG_S", 0.0)
    time.sleep(0.01)
    assert end_orphans() == []
    assert read_record(trial.exit_record, ExitRecord) is None
    gone = prune(Keep(runs=0), set)
    assert trial.state.exists()
    # of a run on another host the parent is not known to be one
    assert [run.run_id for run in gone] == ([] if where["host"] == HERE else ["train-0"])


def test_a_launch_notes_where_its_pids_mean_processes(
    script: Callable[[str], list[str]], start: Callable[..., RunPlaces]
) -> None:
    places = start(script(""))
    description = read_record(places.description, RunDescription)
    assert description is not None
    assert description.pid_space == own_pid_space()
