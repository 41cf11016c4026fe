"""One change on a live run, measured by trials, from the command line; the user's files stay as they were."""

import json
import sys

import pytest

from tests.e2e.digests import digests
from tests.waiting import wait_until

from .conftest import Desk
from .scripts import SAVING, STARVED

pytestmark = [pytest.mark.torch, pytest.mark.slow]

HONEST = {"faster", "too_noisy", "repeats_disagree", "inconclusive"}
"""What may come out for a change that helps, on a host that may be busy with other tests."""


def test_the_change_is_measured_and_the_files_stay(desk: Desk) -> None:
    script = desk.script(SAVING)
    (desk.folder / "old-1.pt").write_bytes(b"an old checkpoint")
    (desk.folder / "log.csv").write_text("kept\n")
    before = digests(desk.folder)
    desk.start("run", "--no-tui", "--", sys.executable, str(script))
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 60, "it trains")
    wait_until(lambda: bool(desk.status(run_id).get("findings")), "a cause is named")
    done = desk.perftui("relaunch", run_id, "--set", "loader.num_workers=2", "--yes", "--json", timeout=600)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)["relaunch"]
    assert digests(desk.folder) == before
    verdict = document["verdict"]
    assert verdict["verdict"] in HONEST
    successor = document["successor"]
    wait_until(lambda: desk.steps(successor) > 20, "the winner trains")
    workers = 2 if verdict["verdict"] == "faster" else 0
    status = desk.status(successor)
    assert status["ranks"][0]["settings"]["loader.num_workers"] == workers
    assert [run["state"] for run in desk.runs() if run["run_id"] == run_id] == ["stopped"]
    (line,) = json.loads(desk.perftui("ledger", "--json").stdout)["comparisons"]
    assert line["set"] == {"loader.num_workers": 2}
    assert line["verdict"] == verdict
    assert {launch["label"] for launch in line["launches"]} == {"A", "B"}
    assert all(
        launch["effective"]["loader.num_workers"] == (2 if launch["label"] == "B" else 0)
        for launch in line["launches"]
    )


def test_without_a_yes_nothing_is_changed(desk: Desk) -> None:
    script = desk.script(STARVED)
    desk.start("run", "--no-tui", "--", sys.executable, str(script), "100000", "0", "0.004")
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 10, "it trains")
    refused = desk.perftui("relaunch", run_id, "--set", "loader.num_workers=2")
    assert refused.returncode == 4
    assert "--yes" in refused.stderr
    seen = desk.steps(run_id)
    wait_until(lambda: desk.steps(run_id) > seen + 10, "it goes on")


def test_a_window_on_the_live_run_names_operators(desk: Desk) -> None:
    script = desk.script(STARVED)
    desk.start("run", "--no-tui", "--", sys.executable, str(script), "100000", "0", "0.004")
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 20, "it trains")
    done = desk.perftui("profile", run_id, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = {row["name"]: row for rank in document["ranks"] for row in rank["operators"]}
    assert rows["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]["count"] == 3
    assert rows["aten::addmm"]["count"] == 6
    assert "Optimizer.step#SGD.step" in rows
