"""What a relaunch under way leaves on disk: who may take it, and what is never touched."""

import os
import socket
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.pid_space import own_pid_space
from perftui.ipc.places import make_run_places, run_places, state_root
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.ipc.settings import Settings
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.orphans import clear_scratch, end_orphans, is_orphaned
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.broken_off import settle_broken_off
from perftui.trainer.tuning.journal import Journal, Underway, own_process, still_under_way, take_broken_off
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.plan import RelaunchPlan

pytestmark = pytest.mark.usefixtures("runtime_dirs")
GONE = 2**22 + 1
"""A pid that no process can have."""
A_CONTAINER = f"{(own_pid_space() or '').partition(' ')[0]} 1"
"""The pid space of a container of this host that has its name."""


CHANGE: Settings = {"loader.num_workers": 2}


def underway(relaunch_id: str = "abc", pid: int = GONE, **more: object) -> Underway:
    made = Underway(
        pid=pid,
        start_ticks=1,
        plan=RelaunchPlan(set={"loader.num_workers": 2}, command=["python", "train.py"]),
        name="train",
        command=["python", "train.py"],
        host=socket.gethostname(),
        before={},
        began_unix=1.0,
        view=RelaunchView(
            relaunch_id=relaunch_id, state="measuring", set={"loader.num_workers": 2}, before={}
        ),
    )
    return msgspec.structs.replace(made, **more)


def test_one_that_was_killed_is_taken_once() -> None:
    Journal("abc").write(underway())
    assert [each.view.relaunch_id for each in take_broken_off(lambda _: True)] == ["abc"]
    assert take_broken_off(lambda _: True) == []
    assert list((state_root() / "relaunches").iterdir()) == []


def test_one_that_goes_on_and_one_of_another_host_are_left_alone() -> None:
    pid, ticks = own_process()
    assert (pid, ticks) == (os.getpid(), start_ticks(os.getpid()))
    Journal("here").write(underway("here", pid, start_ticks=ticks))
    Journal("there").write(underway("there", host="another-host"))
    Journal("in-a-container").write(underway("in-a-container", pid_space=A_CONTAINER))
    assert take_broken_off(lambda _: True) == []
    assert [each.view.relaunch_id for each in still_under_way()] == ["here"]
    assert len(list((state_root() / "relaunches").iterdir())) == 3
    Journal("here").close()
    Journal("here").close()
    assert still_under_way() == []


def test_a_torn_file_is_no_reason_to_fail() -> None:
    Journal("abc").write(underway())
    (state_root() / "relaunches" / "torn.json").write_text('{"pid": 1')
    assert len(settle_broken_off()) == 1


def test_the_ledger_gets_its_line_once_and_the_user_the_way_back() -> None:
    plan = RelaunchPlan(run_id="train-1", set={"loader.num_workers": 2})
    places = make_run_places("train-1")
    write_record(places.relaunch, underway().view)
    Journal("abc").write(underway(plan=plan, stopped=True, before={"loader.pin_memory": True}))
    (told,) = settle_broken_off()
    assert told == (
        "the measurement of loader.num_workers=2 for train-1 was broken off at its first launch: the process "
        "that measured it was killed; train-1 had been stopped for it and does not run; start it again by: "
        "perftui run --set loader.pin_memory=true -- python train.py"
    )
    view = read_record(places.relaunch, RelaunchView)
    assert view is not None
    assert (view.state, view.message) == ("failed", told.partition(" was ")[2])
    Journal("abc").write(underway(plan=plan))  # killed between the ledger's line and the file's end
    assert len(settle_broken_off()) == 1
    with open_ledger(state_root() / "ledger.sqlite") as ledger:
        assert [line.comparison_id for line in ledger.newest()] == ["abc"]


def test_a_successor_that_runs_is_named() -> None:
    plan = RelaunchPlan(run_id="train-1", set={"loader.num_workers": 2})
    view = msgspec.structs.replace(underway().view, successor="train-2")
    Journal("abc").write(underway(plan=plan, stopped=True, view=view))
    (told,) = settle_broken_off()
    assert told.endswith("the training goes on as train-2")


def trial(run_id: str, **more: object) -> Path:
    places = make_run_places(run_id)
    places.scratch.mkdir()
    made = RunDescription(
        run_id=run_id,
        name="t",
        command=["x"],
        cwd="/",
        host=socket.gethostname(),
        started_unix=0.0,
        trial=True,
        keeper_pid=GONE,
        keeper_start_ticks=1,
        training_pid=GONE + 1,
    )
    write_record(places.description, msgspec.structs.replace(made, **more))
    return places.state


@pytest.mark.parametrize(
    "more",
    [
        {"trial": False},
        {"owned": False},
        {"host": "another-host"},
        {"pid_space": A_CONTAINER},
        {"keeper_pid": None},
        {"keeper_pid": os.getpid(), "keeper_start_ticks": start_ticks(os.getpid())},
    ],
)
def test_only_trials_of_this_host_without_a_keeper_are_orphans(more: dict[str, object]) -> None:
    state = trial("a-trial-1", **more)
    description = read_record(state / "run.json", RunDescription)
    assert description is not None
    assert not is_orphaned(description)
    assert end_orphans() == []
    clear_scratch()
    assert (state / "scratch").exists()
    assert not (state / "exit.json").exists()


def test_an_orphan_of_which_nothing_runs_is_closed_without_a_word() -> None:
    state = trial("a-trial-1")
    assert end_orphans() == []
    record = read_record(run_places("a-trial-1").exit_record, ExitRecord)
    assert record is not None
    assert (record.outcome, record.survivors) == ("lost", [])
    clear_scratch()
    assert not (state / "scratch").exists()
