"""Whole searches: real keepers, hubs, processes and ledger; the training is `starved_script.py`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.errors import NoSuchRun, PerftuiError, Refused, UsageError
from perftui.ipc.places import ledger_path, run_places, state_root
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.search_records import SearchEntry
from perftui.ipc.settings import Settings
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import exit_of, launch, request_stop, wait_for_exit
from perftui.trainer.telemetry.processes import tagged_pids
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.search_reading import read_search
from perftui.trainer.tuning.search.tune_verb import Asked, tune_verb
from tests.conftest import RuntimeDirs
from tests.processes import processes_below
from tests.waiting import wait_until

SCRIPT = Path(__file__).with_name("starved_script.py")
CAPS = Caps(steps=200, fewest_seconds=0.0, start_seconds=60.0)
PATIENCE_S = 90.0


@pytest.fixture
def folder(tmp_path: Path, runtime_dirs: RuntimeDirs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of one's own to start in; afterwards nothing of any run is left."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    yield made
    for pid in processes_below(runtime_dirs.state):
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not processes_below(runtime_dirs.state), "keepers and hubs end")
    assert not any(tagged_pids(name) for name in run_names())


def run_names() -> list[str]:
    runs = state_root() / "runs"
    return [each.name for each in runs.iterdir()] if runs.exists() else []


def command(mode: str) -> list[str]:
    return [sys.executable, str(SCRIPT), mode]


def entries() -> list[SearchEntry]:
    with open_search_ledger(ledger_path()) as ledger:
        plans = ledger.plans(os.uname().nodename)
        return ledger.entries(plans[0].search_id) if plans else []


def kinds() -> list[str]:
    return [str(each.__struct_config__.tag) for each in entries()]


def comparisons() -> list[tuple[dict[str, Any], str]]:
    with open_search_ledger(ledger_path()) as ledger:
        return [(dict(line.set), line.verdict.verdict) for line in reversed(ledger.newest())]


def tune(
    capsys: pytest.CaptureFixture[str], mode: str, asked: Asked | None = None
) -> tuple[int, dict[str, Any]]:
    asked = replace(asked or Asked(), command=command(mode), yes=True, json_target="-")
    code = tune_verb(asked, None, CAPS)
    return code, json.loads(capsys.readouterr().out)


def no_trial_is_left() -> bool:
    return all(exit_of(run_places(name)) is not None for name in run_names())


def test_a_search_finds_the_loader_and_stops(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = tune(capsys, "plain")
    assert code == 0
    assert (document["schema"], document["reason"]) == (1, "nothing_left")
    (trial,) = document["trials"]
    assert trial["set"] == {"loader.num_workers": 2}
    assert (trial["verdict"], trial["kept"], trial["finding"]) == ("faster", True, "input.workers")
    assert trial["gain"] == pytest.approx(3.0, abs=0.06)
    assert trial["predicted"]["bound"] == pytest.approx(4.0, abs=0.2)
    assert [each["label"] for each in trial["launches"]] == ["A", "B"]
    final = document["final"]
    assert final["verdict"] == "faster"
    assert final["lo"] < final["gain"] < final["hi"]
    assert final["command"] == ["perftui", "run", "--set", "loader.num_workers=2", "--", *command("plain")]
    assert final["write"] == ["DataLoader(…, num_workers=2)"]
    assert "loader.num_workers=2" in document["sentence"]
    assert document["baseline"]["step_ms"] == pytest.approx(40.0, abs=1.0)
    # the first A serves in the trial too; the final comparison has launches of its own
    assert (folder / "launches.txt").exists() is False  # a trial's files go elsewhere
    trial_of_one_launch = ["begun", "measured", "judged"]
    final_of_two = ["begun", "measured", "measured", "judged"]
    assert kinds() == ["sitting", "measured", *trial_of_one_launch, *final_of_two, "ended"]
    assert comparisons() == [({"loader.num_workers": 2}, "faster")] * 2
    descriptions = [read_record(run_places(name).description, RunDescription) for name in run_names()]
    assert [each.trial for each in descriptions if each is not None] == [True] * 4
    assert no_trial_is_left()


@pytest.mark.long
def test_a_change_that_crashes_is_a_line_and_the_search_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = tune(capsys, "crash")
    assert code == 0
    first = document["trials"][0]
    assert (first["verdict"], first["kept"], first["gain"]) == ("failed", False, None)
    assert "no workers, please" in first["sentence"]
    assert document["reason"] == "nothing_left"
    assert document["final"]["verdict"] == "unchanged"
    assert "Nothing is worth changing" in document["sentence"]
    assert comparisons()[0] == ({"loader.num_workers": 2}, "failed")


@pytest.mark.long
def test_a_slower_change_is_thrown_away(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = tune(capsys, "slow", Asked(most_trials=1))
    assert code == 0
    assert [(each["verdict"], each["kept"]) for each in document["trials"]] == [("slower", False)]
    assert document["reason"] in ("most_trials", "nothing_left")
    assert document["final"]["set"] == {}


def test_a_training_that_fails_is_said_with_its_last_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = tune(capsys, "fails")
    assert code == 1
    assert document["reason"] == "baseline_failed"
    assert "no workers, please" in document["sentence"]
    assert document["trials"] == []


@pytest.mark.long
def test_when_the_time_is_over_the_launch_that_goes_on_is_broken_off(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Asked(command=command("plain"), yes=True, json_target="-", most_minutes=0.1)
    code = tune_verb(asked, None, Caps(fewest_seconds=600.0))
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert document["reason"] == "out_of_time"
    assert document["sentence"].startswith("Nothing has been measured yet. The time is over")
    assert kinds() == ["sitting", "ended"]
    assert no_trial_is_left()


@pytest.mark.long
def test_a_baseline_may_have_settings_and_what_it_has_is_not_tried(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = tune(capsys, "plain", Asked(baseline={"loader.num_workers": 2}, name="fed"))
    assert code == 0
    assert document["trials"] == []
    assert document["name"] == "fed"
    assert document["baseline"]["set"] == {"loader.num_workers": 2}
    assert document["sentence"].startswith("Nothing is worth changing")


@pytest.mark.long
def test_the_command_of_an_ended_run_is_tuned_and_a_live_one_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: Settings = {"loader.num_workers": 2}
    spec = LaunchSpec(command=command("plain"), cwd=folder, name="mine", settings=settings)
    places = launch(spec)
    with pytest.raises(Refused, match="perftui stop"):
        tune_verb(Asked(run_id=places.run_id, yes=True), None, CAPS)
    request_stop(places, "user", grace_s=5.0)
    assert wait_for_exit(places, PATIENCE_S) is not None
    code = tune_verb(Asked(run_id=places.run_id, yes=True, json_target="-"), None, CAPS)
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (document["name"], document["baseline"]["set"]) == ("mine", settings)
    assert document["command"] == command("plain")


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "perftui.tui", "tune", "--yes", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def in_a_trial() -> bool:
    """Tell whether the second launch, the first one of the change, has begun."""
    return kinds().count("begun") == 1 and len(run_names()) == 2


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL])
def test_a_search_that_is_broken_off_goes_on_where_it_stood(
    folder: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    process = start(folder, "--", *command("plain"))
    try:
        wait_until(in_a_trial, "a change is measured", PATIENCE_S)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    wait_until(no_trial_is_left, "the trial ends with the search", PATIENCE_S)
    if number is signal.SIGINT:
        assert process.returncode == 130, err
        assert "--resume goes on" in out
    before = kinds()
    assert before[:3] == ["sitting", "measured", "begun"]
    launched = len(run_names())
    asked = Asked(resume="", yes=True, json_target="-")
    code = tune_verb(asked, None, CAPS)
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert code == 0
    assert "broken off in the middle of a comparison" in told.err
    assert [each["verdict"] for each in document["trials"]] == ["faster"]
    assert document["trials"][0]["launches"][0]["run_id"] == document["baseline"]["launches"][0]["run_id"]
    assert len(run_names()) == launched + 3  # B once more, and two for the final comparison
    assert comparisons() == [({"loader.num_workers": 2}, "faster")] * 2
    again = tune_verb(Asked(resume="", command=command("plain"), yes=True), None, CAPS)
    assert again == 0
    assert len(run_names()) == launched + 3  # nothing is measured twice
    assert "loader.num_workers=2" in capsys.readouterr().out


def launch_in_view() -> str | None:
    """Return the stage of the launch that goes on, as anybody on this host sees it."""
    view = read_search()
    return view.launch.state if view is not None and view.goes_on and view.launch is not None else None


def test_two_searches_at_once_would_measure_each_other(folder: Path) -> None:
    process = start(folder, "--", *command("plain"))
    try:
        wait_until(lambda: "sitting" in kinds(), "the search has begun", PATIENCE_S)
        with pytest.raises(Refused, match="another search or relaunch goes on"):
            tune_verb(Asked(command=command("plain"), yes=True), None, CAPS)
        wait_until(lambda: launch_in_view() is not None, "the launch is seen from outside", PATIENCE_S)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    view = read_search()
    assert view is not None
    assert (view.goes_on, view.launch, view.reason) == (False, None, "interrupted")


def test_nothing_is_launched_without_a_yes(folder: Path) -> None:
    with pytest.raises(Refused, match="--yes"):
        tune_verb(Asked(command=command("plain")), None, CAPS)
    with pytest.raises(Refused, match="nothing was launched"):
        tune_verb(Asked(command=command("plain")), lambda _: "n", CAPS)
    assert run_names() == []
    assert entries() == []


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (Asked(yes=True), UsageError),
        (Asked(resume="", yes=True), NoSuchRun),
        (Asked(resume="other", yes=True), NoSuchRun),
        (Asked(run_id="nothing-here", yes=True), NoSuchRun),
        (Asked(command=["no-such-program-here"], yes=True), PerftuiError),
    ],
)
def test_what_cannot_be_tuned_is_an_error_before_anything_starts(
    folder: Path, asked: Asked, error: type[PerftuiError]
) -> None:
    with pytest.raises(error):
        tune_verb(asked, None, CAPS)
    assert run_names() == []


@pytest.mark.parametrize(
    "words",
    [
        ["tune"],
        ["tune", "--most-trials", "0", "--", "true"],
        ["tune", "--minutes", "nan", "--", "true"],
        ["tune", "--allow", "anything", "--", "true"],
        ["tune", "--resume", "x", "--set", "loader.num_workers=2"],
        ["tune", "--set", "loader.magic=2", "--", "true"],
        ["tune", "run-1", "--", "true"],
    ],
)
def test_wrong_words_are_one_line_and_code_two(folder: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perftui.tui", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert run_names() == []
