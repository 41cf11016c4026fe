"""Whole relaunches: real keepers, hubs and processes; the training is `rank_script.py`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import NoSuchRun, PerftuiError, Refused, UsageError
from perftui.ipc.places import RunPlaces, ledger_path, make_run_places, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_record
from perftui.ipc.settings import Settings
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.start import exit_of, request_stop, wait_for_exit
from perftui.trainer.tuning.plan import Caps, RelaunchPlan, plan_path
from perftui.trainer.tuning.relaunch import relaunch
from perftui.trainer.tuning.relaunch_verb import relaunch_verb
from perftui.trainer.tuning.subject import live_picture
from tests.tuning.live_runs import (
    CAPS,
    PATIENCE_S,
    SCRIPT,
    all_runs,
    is_measuring,
    ledger_lines,
    no_trial_is_left,
    private_runs,
    start_live,
    workers_of,
)
from tests.waiting import wait_until

__all__ = ["private_runs"]


def test_a_faster_setting_goes_live(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    views: list[RelaunchView] = []
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=CAPS, finding="input.workers")
    view = relaunch(plan, views.append, lambda: False)

    assert view.state == "done"
    assert view.verdict is not None
    assert view.verdict.verdict == "faster"
    assert view.verdict.gain == pytest.approx(3.0, abs=0.03)
    assert view.verdict.loss is not None
    assert view.verdict.loss.startswith("loss at step")
    assert view.before == {"loader.num_workers": 0}
    assert [launch.label for launch in view.launches] == ["A", "B"]
    assert [launch.state for launch in view.launches] == ["done", "done"]
    assert {each.state for each in views} >= {"stopping", "measuring", "starting", "done"}

    ended = exit_of(live)
    assert ended is not None
    assert ended.stopped_by == "relaunch"
    assert workers_of(view.successor) == 2
    assert no_trial_is_left()
    (line,) = ledger_lines()
    assert (line.parent, line.successor, line.finding) == (live.run_id, view.successor, "input.workers")
    assert line.verdict == view.verdict
    assert [launch.effective["loader.num_workers"] for launch in line.launches] == [0, 2]
    assert all(launch.startup_s and launch.steps >= 60 for launch in line.launches)


def test_a_restless_training_ends_at_the_limit_that_was_promised_and_after_one_launch(tmp_path: Path) -> None:
    """Of a change that cannot bring much nothing could be said, however many launches followed."""
    live = start_live(tmp_path, "--restless")
    views: list[RelaunchView] = []
    caps = msgspec.structs.replace(CAPS, steps=10**6)
    change: Settings = {"loader.num_workers": 2}
    plan = RelaunchPlan(run_id=live.run_id, set=change, caps=caps, bound=1.05, most_s=40.0)
    began = time.monotonic()
    view = relaunch(plan, views.append, lambda: False)

    assert time.monotonic() - began < 40.0
    assert view.verdict is not None
    assert (view.verdict.verdict, view.verdict.launches) == ("too_noisy", 1)
    assert view.verdict.sentence.endswith("no further launch could have made a verdict of it")
    assert workers_of(view.successor) == "as the script has it"
    (launch,) = ledger_lines()[0].launches
    assert launch.ended_by == "limit"
    assert view.launches[0].elapsed_s == launch.wall_s
    assert launch.wall_s == pytest.approx(7.0, abs=1.5)
    told = [each.launches[-1] for each in views if each.launches and each.launches[-1].state == "measuring"]
    assert all(each.limit_s == pytest.approx(7.0, abs=0.5) for each in told)
    assert all(each.share is not None and 0 <= each.share <= 1 for each in told)
    assert told[-1].share == pytest.approx(1.0, abs=0.25), (
        "what is left is an estimate; at the end there is none"
    )
    assert any("more of them are needed" in (each.why or "") for each in told)


def test_a_slower_setting_does_not(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 3}, caps=CAPS)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.verdict is not None
    assert view.verdict.verdict == "slower"
    assert workers_of(view.successor) == "as the script has it"


@pytest.mark.parametrize(
    ("workers", "reason"),
    [(4, "four workers are more than I can bear"), (5, "five is right out")],
)
def test_a_change_that_fails_brings_the_original_back_and_a_line_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, reason: str
) -> None:
    live = start_live(tmp_path)
    monkeypatch.setattr("perftui.trainer.tuning.relaunch.effective_cpus", lambda: 8.0)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": workers}, caps=CAPS)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.state == "failed"
    assert view.verdict is not None
    assert view.verdict.verdict == "failed"
    assert reason in view.verdict.sentence
    assert workers_of(view.successor) == "as the script has it"
    (line,) = ledger_lines()
    assert [launch.label for launch in line.launches] == ["A", "B"]
    assert no_trial_is_left()


def test_giving_up_within_a_launch_brings_the_original_back(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    views: list[RelaunchView] = []
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=Caps(fewest_seconds=600.0))
    view = relaunch(
        plan, views.append, lambda: views[-1].launches[-1:] != [] and views[-1].launches[-1].steps > 80
    )
    assert view.state == "done"
    assert view.verdict is not None
    assert view.verdict.verdict == "unchanged"
    assert view.verdict.gain is None
    assert workers_of(view.successor) == "as the script has it"
    assert no_trial_is_left()
    assert len(ledger_lines()[0].launches) == 1


def test_switch_without_trials_is_provisional(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, trial=False, caps=CAPS)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.verdict is not None
    assert view.verdict.verdict == "provisional"
    assert view.verdict.gain == pytest.approx(3.0, abs=0.03)
    assert workers_of(view.successor) == 2
    assert {read_record(each.description, RunDescription).trial for each in all_runs()} == {False}  # type: ignore[union-attr]


def test_switch_to_something_that_dies_brings_the_original_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = start_live(tmp_path)
    monkeypatch.setattr("perftui.trainer.tuning.relaunch.effective_cpus", lambda: 8.0)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 4}, trial=False, caps=CAPS)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.state == "failed"
    assert workers_of(view.successor) == "as the script has it"


def test_a_switch_whose_training_soon_ends_as_it_should_starts_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = start_live(tmp_path)
    monkeypatch.setattr("perftui.trainer.tuning.relaunch.effective_cpus", lambda: 8.0)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 7}, trial=False, caps=CAPS)
    ended_early(relaunch(plan, lambda _: None, lambda: False), "finished")


def test_a_switch_that_its_user_stops_soon_starts_nothing_else(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    caps = msgspec.structs.replace(CAPS, steps=1_000_000, fewest_steps=1_000_000)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, trial=False, caps=caps)

    def stop(view: RelaunchView) -> None:
        if view.successor is not None and view.launches and view.launches[-1].steps > 20:
            successor = run_places(view.successor)
            if not successor.stop_request.exists():
                request_stop(successor, "user")

    ended_early(relaunch(plan, stop, lambda: False), "stopped")


def ended_early(view: RelaunchView, outcome: str) -> None:
    assert (view.state, len(all_runs())) == ("done", 2)
    assert view.verdict is not None
    assert view.verdict.verdict == "provisional"
    assert "ended too early to compare" in view.verdict.sentence
    (line,) = ledger_lines()
    assert line.successor == view.successor is not None
    assert (line.launches[-1].outcome, line.launches[-1].log_step_s) == (outcome, None)
    assert all(exit_of(each) is not None for each in all_runs())


@pytest.mark.parametrize("trial", [True, False])
@pytest.mark.parametrize(("by_its_user", "how"), [(True, "had been stopped"), (False, "had finished")])
def test_a_run_that_ends_just_before_it_is_stopped_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: bool, by_its_user: bool, how: str
) -> None:
    live = start_live(tmp_path)
    pid = live_picture(live).view.ranks[0].pid

    def too_late(places: RunPlaces, stopped_by: str, trainers: object) -> None:
        if by_its_user:
            request_stop(places, "user")
        else:
            os.kill(pid, signal.SIGTERM)  # upon which the script ends as it would by itself
        assert wait_for_exit(places, PATIENCE_S) is not None
        request_stop(places, stopped_by)

    monkeypatch.setattr("perftui.trainer.tuning.relaunch.request_stop", too_late)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, trial=trial, caps=CAPS)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert (view.state, view.successor, len(all_runs())) == ("failed", None, 1)
    assert view.verdict is not None
    assert how in view.verdict.sentence


@pytest.mark.parametrize("trial", [True, False])
def test_a_change_that_breaks_down_after_a_while_brings_the_original_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: bool
) -> None:
    live = start_live(tmp_path)
    monkeypatch.setattr("perftui.trainer.tuning.relaunch.effective_cpus", lambda: 8.0)
    caps = Caps(steps=200, fewest_seconds=4.0, start_seconds=60.0)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 6}, trial=trial, caps=caps)
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.state == "failed"
    assert view.verdict is not None
    assert view.verdict.verdict == "failed"
    assert "broke down by itself after step 299" in view.verdict.sentence
    assert workers_of(view.successor) == "as the script has it"
    broken = ledger_lines()[0].launches[-1]
    assert (broken.label, broken.outcome, broken.log_step_s) == ("B", "failed", None)
    assert broken.steps >= 60
    assert broken.note is not None
    assert "six workers have eaten all the memory" in broken.note


def test_a_command_without_a_run_is_only_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT)]
    plan = RelaunchPlan(
        command=command, cwd=str(tmp_path), name="tune", set={"loader.num_workers": 2}, caps=CAPS
    )
    view = relaunch(plan, lambda _: None, lambda: False)
    assert view.verdict is not None
    assert view.verdict.verdict == "faster"
    assert view.successor is None
    assert no_trial_is_left()
    assert len(all_runs()) == 2


def test_the_tuner_process_gives_up_on_sigterm_and_its_trial_dies_with_it(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    caps = Caps(fewest_seconds=600.0)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=caps)
    write_record(plan_path(live), plan)
    tuner = subprocess.Popen([sys.executable, "-m", "perftui.trainer.tuning", live.run_id])
    try:
        wait_until(lambda: is_measuring(live), "a trial is measured")
        tuner.terminate()
        assert tuner.wait(PATIENCE_S) == 0
    finally:
        if tuner.poll() is None:
            tuner.kill()
            tuner.wait()
    view = read_record(live.relaunch, RelaunchView)
    assert view is not None
    assert view.verdict is not None
    assert view.verdict.verdict == "unchanged"
    assert workers_of(view.successor) == "as the script has it"
    assert no_trial_is_left()


def test_a_killed_tuner_leaves_no_trial(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=Caps(fewest_seconds=600.0))
    write_record(plan_path(live), plan)
    tuner = subprocess.Popen([sys.executable, "-m", "perftui.trainer.tuning", live.run_id])
    try:
        wait_until(lambda: is_measuring(live), "a trial is measured")
    finally:
        os.kill(tuner.pid, signal.SIGKILL)
        tuner.wait()
    wait_until(no_trial_is_left, "trials end")
    trial = next(each for each in all_runs() if "trial" in each.run_id)
    ended = read_record(trial.exit_record, ExitRecord)
    assert ended is not None
    assert ended.stopped_by == "parent"


def test_command_line_through_the_hub_of_the_run(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    written: list[str] = []
    target = tmp_path / "out.json"
    code = relaunch_verb(
        live.run_id, {"loader.num_workers": 2}, yes=True, json_target=str(target), write=written.append
    )
    assert code == 0
    told = "".join(written)
    for part in ("loader.num_workers: 0 → 2", "starts from step 0", "verdict: faster", "times as fast"):
        assert part in told, told
    document = json.loads(target.read_text())
    assert document["schema"] == 1
    assert document["relaunch"]["verdict"]["verdict"] == "faster"
    assert workers_of(document["relaunch"]["successor"]) == 2


def test_command_line_only_measures_a_run_that_has_ended(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    request_stop(live, "user", grace_s=5.0)
    assert wait_for_exit(live, PATIENCE_S) is not None
    written: list[str] = []
    change: dict[str, bool | int | str | None] = {"loader.num_workers": 2}
    assert relaunch_verb(live.run_id, change, yes=True, caps=CAPS, write=written.append) == 0
    told = "".join(written)
    assert "nothing is started afterwards" in told
    assert "verdict: faster" in told
    assert "goes on as" not in told
    assert ledger_lines()[0].parent == live.run_id
    assert len(all_runs()) == 3


def test_command_line_refuses_without_a_yes(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    change: dict[str, bool | int | str | None] = {"loader.num_workers": 2}
    with pytest.raises(Refused, match="--yes"):
        relaunch_verb(live.run_id, change, write=lambda _: None)
    with pytest.raises(Refused, match="nothing was changed"):
        relaunch_verb(live.run_id, change, write=lambda _: None, ask=lambda _: "n")
    with pytest.raises(Refused, match="in force already"):
        relaunch_verb(live.run_id, {"loader.num_workers": 0}, yes=True, write=lambda _: None)
    with pytest.raises(Refused, match="500 workers for each of 1 rank"):
        relaunch_verb(live.run_id, {"loader.num_workers": 500}, yes=True, write=lambda _: None)
    with pytest.raises(NoSuchRun):
        relaunch_verb("nothing-here", change, yes=True, write=lambda _: None)
    assert exit_of(live) is None
    assert not ledger_path().exists()


def test_a_run_that_is_not_ours_gets_the_command_to_use() -> None:
    places = make_run_places("foreign-1")
    description = RunDescription(
        run_id="foreign-1",
        name="foreign",
        command=["python", "my train.py"],
        cwd="/",
        host="h",
        started_unix=0.0,
        owned=False,
    )
    write_record(places.description, description)
    with pytest.raises(
        Refused, match=r"perftui run --set loader\.num_workers=2 -- python 'my train\.py'"
    ) as told:
        relaunch_verb("foreign-1", {"loader.num_workers": 2}, yes=True, write=lambda _: None)
    assert told.value.exit_code == 4


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (RelaunchPlan(set={"loader.num_workers": 1}), UsageError),
        (RelaunchPlan(command=["x"], set={}), UsageError),
        (RelaunchPlan(command=["x"], set={"loader.magic": 1}), UsageError),
        (RelaunchPlan(command=["x"], set={"loader.num_workers": 1}, confirmed=False), Refused),
        (RelaunchPlan(run_id="../../etc", set={"loader.num_workers": 1}), NoSuchRun),
    ],
)
def test_impossible_plans_change_nothing(plan: RelaunchPlan, error: type[PerftuiError]) -> None:
    views: list[RelaunchView] = []
    with pytest.raises(error):
        relaunch(plan, views.append, lambda: False)
    assert views[-1].state == "failed"
    assert views[-1].message
    assert all_runs() == []
