"""Kill -9 in the middle of a trial, of each process in turn: nothing runs on unseen, nothing is lost.

Real keepers, hubs, tuners and processes; the training is `rank_script.py`.
"""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import CancelCommand
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.start import exit_of
from perftui.trainer.telemetry.processes import start_ticks, tagged_pids
from perftui.trainer.tuning.broken_off import settle_broken_off
from perftui.trainer.tuning.journal import still_under_way
from perftui.trainer.tuning.plan import Caps, RelaunchPlan, plan_path
from tests.tuning.live_runs import (
    CAPS,
    SCRIPT,
    all_runs,
    hub_pids,
    is_measuring,
    ledger_lines,
    no_trial_is_left,
    private_runs,
    start_live,
    workers_of,
)
from tests.waiting import wait_until

__all__ = ["private_runs"]
pytestmark = pytest.mark.slow

ENDLESS = Caps(fewest_seconds=600.0)
PERFTUI = [sys.executable, "-m", "perftui.tui"]


def kill(*pids: int | None) -> None:
    for pid in pids:
        assert pid is not None
        os.kill(pid, signal.SIGKILL)


def tuner_of(live: RunPlaces) -> int:
    (underway,) = [each for each in still_under_way() if each.plan.run_id == live.run_id]
    return underway.pid


def relaunch_by_hub(live: RunPlaces) -> None:
    """Ask the run's hub for a relaunch whose first trial never ends, and wait for that to be measured."""
    command = ["relaunch", live.run_id, "--set", "loader.num_workers=2", "--yes"]
    asked = subprocess.Popen([*PERFTUI, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_measuring(live), "a trial is measured")
    finally:
        asked.kill()
        asked.wait()


def the_trial() -> RunPlaces:
    """Return the trial that runs, once its pids are known."""
    wait_until(lambda: running_trials() != [], "a trial runs")
    (trial,) = running_trials()
    return trial


def running_trials() -> list[RunPlaces]:
    trials = [each for each in all_runs() if "-trial-" in each.run_id]
    known = [
        each
        for each in trials
        if (told := read_record(each.description, RunDescription)) is not None
        and told.training_pid is not None
    ]
    return [each for each in known if exit_of(each) is None]


def description_of(places: RunPlaces) -> RunDescription:
    description = read_record(places.description, RunDescription)
    assert description is not None
    return description


def told_by(*arguments: str) -> str:
    done = subprocess.run([*PERFTUI, *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.stderr


@pytest.fixture
def live(tmp_path: Path) -> RunPlaces:
    return start_live(tmp_path)


@pytest.fixture
def endless(live: RunPlaces) -> RunPlaces:
    """A live run whose relaunch is in its first trial, which goes on until something ends it."""
    description = description_of(live)
    # the hub's own plan has the limits of the run: long trials
    assert description.trial_seconds is None
    relaunch_by_hub(live)
    return live


def test_a_killed_tuner_s_training_is_brought_back_by_its_hub(endless: RunPlaces) -> None:
    trial = the_trial()
    kill(tuner_of(endless))
    wait_until(lambda: (seen := view_of(endless)) is not None and seen.state == "failed", "the hub tells it")
    view = view_of(endless)
    assert view is not None
    assert view.message is not None
    assert view.message.endswith(f"the training goes on as {view.successor}")
    assert workers_of(view.successor) == "as the script has it"
    wait_until(no_trial_is_left, "the trial ends")
    ended = read_record(trial.exit_record, ExitRecord)
    assert ended is not None
    assert ended.stopped_by == "parent"
    (line,) = ledger_lines()
    assert (line.verdict.verdict, line.comparison_id) == ("failed", view.relaunch_id)
    assert "broken off at launch 1: the process that measured it was killed" in line.verdict.sentence
    assert settle_broken_off() == []


def view_of(places: RunPlaces) -> RelaunchView | None:
    return read_record(places.relaunch, RelaunchView)


def kill_hub(live: RunPlaces) -> DashboardLink:
    """Kill the hub of a run that is being measured, and return a link to the one that comes in its place."""
    killed = hub_pids(live)
    kill(*killed)
    wait_until(lambda: set(hub_pids(live)) - set(killed), "another hub")
    link = DashboardLink(live.dashboard_socket)
    view = link.snapshot(30.0).view
    assert view.relaunch is not None
    assert view.relaunch.state == "measuring"
    return link


def test_a_killed_hub_is_back_while_trials_run_and_the_relaunch_ends_well(live: RunPlaces) -> None:
    relaunch_by_hub(live)
    kill_hub(live).close()
    assert "is measured" not in told_by("ls")
    wait_until(lambda: (seen := view_of(live)) is not None and seen.state == "done", "it ends well", 180)
    view = view_of(live)
    assert view is not None
    assert view.verdict is not None
    assert workers_of(view.successor) == (2 if view.verdict.verdict == "faster" else "as the script has it")
    assert [line.verdict.verdict for line in ledger_lines()] == [view.verdict.verdict]


@pytest.mark.long
def test_the_hub_in_its_place_can_have_the_relaunch_given_up(endless: RunPlaces) -> None:
    link = kill_hub(endless)
    assert link.ask(CancelCommand(command_id=new_command_id()), 20.0).result == "cancelling"
    link.close()
    wait_until(lambda: (seen := view_of(endless)) is not None and seen.state == "done", "it is given up")
    (line,) = ledger_lines()
    assert line.verdict.sentence == "given up during launch 1: the original settings stay"
    view = view_of(endless)
    assert view is not None
    assert workers_of(view.successor) == "as the script has it"


@pytest.mark.long
def test_the_hub_in_its_place_brings_the_training_back_when_the_tuner_dies(endless: RunPlaces) -> None:
    link = kill_hub(endless)
    kill(tuner_of(endless))
    wait_until(lambda: (seen := view_of(endless)) is not None and seen.state == "failed", "the hub tells it")
    link.close()
    view = view_of(endless)
    assert view is not None
    assert workers_of(view.successor) == "as the script has it"


@pytest.mark.long
@pytest.mark.parametrize("part", ["tuner", "hub", "keeper of the trial", "trial"])
def test_parts_suspended_while_a_trial_is_measured(live: RunPlaces, part: str) -> None:
    """Each sleeps for some seconds in mid-trial: the relaunch has an end all the same, and its line."""
    relaunch_by_hub(live)
    trial = description_of(the_trial())
    pid = {
        "tuner": tuner_of(live),
        "hub": hub_pids(live)[0],
        "keeper of the trial": trial.keeper_pid,
        "trial": trial.training_pid,
    }[part]
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    time.sleep(4.0)
    os.kill(pid, signal.SIGCONT)
    ends = ("done", "failed")
    wait_until(lambda: (seen := view_of(live)) is not None and seen.state in ends, "an end", 240)
    view = view_of(live)
    assert view is not None
    assert view.verdict is not None
    assert workers_of(view.successor) == (2 if view.verdict.verdict == "faster" else "as the script has it")
    assert [line.verdict.verdict for line in ledger_lines()] == [view.verdict.verdict]
    assert no_trial_is_left()


def test_killed_hub_and_tuner_are_told_at_the_next_start_with_the_way_back(endless: RunPlaces) -> None:
    kill(*hub_pids(endless), tuner_of(endless))
    wait_until(no_trial_is_left, "the trial ends with its tuner")
    told = told_by("ls")
    assert f"the measurement of loader.num_workers=2 for {endless.run_id} was broken off at launch 1" in told
    assert (
        f"{endless.run_id} had been stopped for it and does not run; start it again by: perftui run" in told
    )
    assert [line.verdict.verdict for line in ledger_lines()] == ["failed"]
    assert "broken off" not in told_by("ls")
    assert not any(tagged_pids(each.run_id) for each in all_runs())


@pytest.mark.parametrize("option", ["", pytest.param("--stubborn", marks=pytest.mark.long)])
def test_a_killed_keeper_of_a_trial_leaves_nothing_and_the_relaunch_ends(tmp_path: Path, option: str) -> None:
    live = start_live(tmp_path, *option.split())
    relaunch_by_hub(live)
    trial = the_trial()
    kill(description_of(trial).keeper_pid)
    wait_until(
        lambda: (seen := view_of(live)) is not None and seen.state in ("done", "failed"), "an end", 240
    )
    assert not tagged_pids(trial.run_id)
    view = view_of(live)
    assert view is not None
    assert view.verdict is not None
    assert workers_of(view.successor) == (2 if view.verdict.verdict == "faster" else "as the script has it")
    assert [line.verdict.verdict for line in ledger_lines()] == [view.verdict.verdict]
    assert no_trial_is_left()


def test_everything_above_a_stubborn_trial_killed_at_once(tmp_path: Path) -> None:
    """Only the next start can end it: it takes no notice of SIGTERM, and nobody is left to insist."""
    plan = RelaunchPlan(
        command=[sys.executable, str(SCRIPT), "--stubborn"],
        cwd=str(tmp_path),
        name="stubborn",
        set={"loader.num_workers": 2},
        caps=ENDLESS,
    )
    program = (
        "import sys, msgspec\n"
        "from perftui.trainer.tuning.plan import RelaunchPlan\n"
        "from perftui.trainer.tuning.relaunch import relaunch\n"
        "plan = msgspec.json.decode(sys.argv[1], type=RelaunchPlan)\n"
        "relaunch(plan, lambda view: None, lambda: False)\n"
    )
    tuner = subprocess.Popen([sys.executable, "-c", program, msgspec.json.encode(plan).decode()])
    try:
        trial = the_trial()
        wait_until(lambda: (trial.state / "stepped").exists(), "it trains")
        description = description_of(trial)
        kill(tuner.pid, description.keeper_pid, *hub_pids(trial))
    finally:
        tuner.kill()
        tuner.wait()
    assert description.training_pid is not None
    assert start_ticks(description.training_pid) == description.training_start_ticks
    told = told_by("ls")
    assert "the measurement of loader.num_workers=2 for stubborn was broken off at launch 1" in told
    assert start_ticks(description.training_pid) is None
    assert not tagged_pids(trial.run_id)
    assert not trial.scratch.exists()
    assert [line.verdict.verdict for line in ledger_lines()] == ["failed"]


def test_a_killed_dashboard_changes_nothing(live: RunPlaces) -> None:
    write_record(plan_path(live), RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=CAPS))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [*PERFTUI, live.run_id])
    try:
        tuner = subprocess.Popen([sys.executable, "-m", "perftui.trainer.tuning", live.run_id])
        try:
            wait_until(lambda: is_measuring(live), "a trial is measured")
            kill(pid)
            os.waitpid(pid, 0)
            assert tuner.wait(180) == 0
        finally:
            tuner.kill()
            tuner.wait()
    finally:
        os.close(terminal)
    view = view_of(live)
    assert view is not None
    assert view.verdict is not None
    assert view.verdict.verdict == "faster"
    assert exit_of(run_places(view.successor or "")) is None
