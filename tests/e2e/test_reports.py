"""`report` and `compare` on real small runs: what they say is what the runs' own summaries say."""

import json
import subprocess
import sys
from typing import Any

import pytest

from perftui.ipc.places import run_places
from tests.e2e.conftest import Desk
from tests.e2e.scripts import STARVED
from tests.waiting import wait_until

pytestmark = [pytest.mark.torch, pytest.mark.slow]
KEY = "key-of-mine-0123456789"


def _git(desk: Desk, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=desk.folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _run(desk: Desk, name: str, item_s: str, *more: str) -> dict[str, Any]:
    target = f"{name}.json"
    done = desk.perftui(
        "run", "--no-tui", "--json", target, "--name", name, "--",
        sys.executable, "train.py", "140", "0", item_s, *more,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads((desk.folder / target).read_text())
    return told


def test_ended_runs_are_reported_and_compared(desk: Desk) -> None:
    desk.script(STARVED)
    _git(desk, "init", "-q")
    _git(desk, "add", "train.py")
    _git(desk, "commit", "-q", "-m", "first")
    commit = _git(desk, "rev-parse", "HEAD")
    slow = _run(desk, "slow", "0.004", "--api-key", KEY)
    fast = _run(desk, "fast", "0.001")

    text = desk.perftui("report", "slow")
    assert text.returncode == 0, text.stderr
    mean_ms = slow["ranks"][0]["step_ms"]["mean"]
    assert f"| {mean_ms:.2f} |" in text.stdout
    assert f"| Commit | {commit} |" in text.stdout
    assert slow["findings"][0]["code"] in text.stdout
    assert f"torch {slow['ranks'][0]['torch']}" in text.stdout
    assert KEY not in text.stdout

    page = desk.perftui("report", "slow", "--format", "html").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    assert "<script" not in page
    assert f"{mean_ms:.2f}" in page
    assert KEY not in page

    for words in (("--format", "json"), ("--json",)):
        told = json.loads(desk.perftui("report", "slow", *words).stdout)
        assert (told["schema"], told["masked"], told["commit"]) == (1, 1, commit)
        assert told["summary"]["ranks"] == slow["ranks"]
        assert told["summary"]["command"][-1] == "[masked]"

    _check_comparison(desk, slow, fast)
    _check_refusals(desk, fast["run_id"])
    _check_without_summary(desk, slow)


def _check_comparison(desk: Desk, slow: dict[str, Any], fast: dict[str, Any]) -> None:
    done = desk.perftui("compare", "slow", "fast", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["a"]["run_id"], told["b"]["run_id"]) == (slow["run_id"], fast["run_id"])
    # one launch each, on a host of which the ledger knows nothing: no word that claims more
    assert told["verdict"]["verdict"] in ("provisional", "too_noisy", "inconclusive")
    assert told["held_back"][0].startswith("how much launches of one setting differ on this host")
    assert [each["name"] for each in told["differences"]] == ["command"]
    assert told["a"]["launch"]["step_ms"] > told["b"]["launch"]["step_ms"] > 4
    assert told["a"]["samples_per_step"] == 4
    lines = desk.perftui("compare", "slow", "fast").stdout
    assert told["verdict"]["sentence"] in lines
    assert "to settle it: run both again in turns" in lines


def _check_refusals(desk: Desk, run_id: str) -> None:
    for words, code in (
        (("compare", "fast", run_id), 2),
        (("compare", "fast", "nothing"), 3),
        (("compare", "fast"), 2),
        (("report", "nothing"), 3),
        (("report", "fast", "--format", "pdf"), 2),
        (("report", "fast", "--format", "html", "--json"), 2),
    ):
        done = desk.perftui(*words)
        assert done.returncode == code, (words, done.stderr)
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""


def _check_without_summary(desk: Desk, slow: dict[str, Any]) -> None:
    """What a hub could not write is read from its recording; without that the keeper's word must do."""
    places = run_places(slow["run_id"])
    places.summary.unlink()
    told = json.loads(desk.perftui("report", "slow", "--json").stdout)["summary"]
    assert told["ranks"][0]["step_ms"] == slow["ranks"][0]["step_ms"]
    assert [run["name"] for run in desk.runs()] == ["fast", "slow"]
    for segment in places.recording.iterdir():
        segment.unlink()
    assert "nothing was measured" in desk.perftui("report", "slow").stdout
    done = desk.perftui("compare", "slow", "fast")
    assert done.returncode == 1
    assert "no recording there" in done.stderr


def test_a_live_run_is_reported_as_it_stands(desk: Desk) -> None:
    desk.script(STARVED)
    process = desk.start("run", "--no-tui", "--", sys.executable, "train.py", "100000", "0", "0.002")
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 60, "the run steps")
    told = json.loads(desk.perftui("report", "--json").stdout)
    assert told["summary"]["run_id"] == run_id
    assert told["summary"]["state"] == "training"
    assert told["summary"]["exit_code"] is None
    assert told["summary"]["ranks"][0]["steps"] > 60
    assert "Training for 0:" in desk.perftui("report", run_id).stdout
    assert process.poll() is None
