"""Parts are killed in mid-run: the training must not notice, and nothing may be lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.places import run_places
from perftui.trainer.launch.replay import summary_of_recording
from tests.waiting import wait_until

from .conftest import PERFTUI, Desk
from .scripts import STARVED

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_a_killed_hub_is_back_with_its_history_and_the_training_is_the_same(desk: Desk) -> None:
    script = desk.script(STARVED)
    arguments = [sys.executable, str(script), "250", "0", "0.004"]
    plain = subprocess.run(arguments, capture_output=True, text=True, check=True)
    process = desk.start("run", "--no-tui", "--json", "out.json", "--", *arguments)
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 60, "it trains")
    seen = desk.steps(run_id)
    killed = desk.hub_pid(run_id)
    os.kill(killed, signal.SIGKILL)
    link = DashboardLink(run_places(run_id).dashboard_socket)
    try:
        update = link.snapshot(20.0)
    finally:
        link.close()
    assert update.view.header.hub_pid != killed
    assert update.view.header.hub_restarts == 1
    assert update.view.ranks[0].steps >= seen
    assert sum(part.stride * len(part.wall_ms) for part in update.history) >= seen
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out == plain.stdout
    summary = json.loads((desk.folder / "out.json").read_text())
    assert summary["ranks"][0]["steps"] == 250
    assert summary["ranks"][0]["dropped"] == 0


def test_a_killed_foreground_leaves_the_training_running(desk: Desk) -> None:
    script = desk.script(STARVED)
    process = desk.start("run", "--no-tui", "--", sys.executable, str(script), "100000", "0", "0.004")
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 10, "it trains")
    process.kill()
    process.wait(60)
    seen = desk.steps(run_id)
    wait_until(lambda: desk.steps(run_id) > seen + 10, "it goes on")
    assert desk.perftui("stop", run_id).returncode == 0


def test_two_runs_and_three_dashboards_at_once(desk: Desk) -> None:
    script = desk.script(STARVED)
    command = [sys.executable, str(script), "100000", "0", "0.004"]
    for name in ("one", "two"):
        desk.start("run", "--no-tui", "--name", name, "--", *command)
    wait_until(lambda: sum(run["state"] == "running" for run in desk.runs()) == 2, "both run")
    ids = sorted(run["run_id"] for run in desk.runs())
    wait_until(lambda: all(desk.steps(run_id) > 10 for run_id in ids), "both train")
    links = [DashboardLink(run_places(run_id).dashboard_socket) for run_id in (ids[0], ids[0], ids[1])]
    try:
        names = [link.snapshot(10.0).view.header.name for link in links]
    finally:
        for link in links:
            link.close()
    assert names == ["one", "one", "two"]


def test_a_recording_is_shown_without_torch(desk: Desk, tmp_path: Path) -> None:
    script = desk.script(STARVED)
    done = desk.perftui("run", "--no-tui", "--", sys.executable, str(script), "60", "0", "0.002")
    assert done.returncode == 0
    (run,) = desk.runs()
    poisoned = tmp_path / "poisoned"
    poisoned.mkdir()
    (poisoned / "torch.py").write_text("raise ImportError('torch was imported')")
    recording = desk.state / "perftui" / "runs" / run["run_id"]
    environment = os.environ | {"PYTHONPATH": str(poisoned)}
    shown = subprocess.run(
        [*PERFTUI, "replay", str(recording), "--at-end"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert shown.returncode == 0, shown.stderr
    assert "60" in shown.stdout
    assert "input.workers" in shown.stdout
    assert [path.name for path in recording.parent.iterdir()] == [run["run_id"]]  # a replay leaves nothing


def test_env_arms_a_training_started_without_perftui(desk: Desk) -> None:
    script = desk.script(STARVED)
    exports = desk.perftui("env")
    assert exports.returncode == 0
    armed = subprocess.run(
        ["bash", "-c", f'eval "$1"; exec {sys.executable} {script} 60 3 0.02', "bash", exports.stdout],
        capture_output=True,
        text=True,
        check=False,
        cwd=desk.folder,
        env=os.environ | {"PERFTUI_PROFILE": "20:3"},
    )
    assert armed.returncode == 3, armed.stderr
    (run,) = desk.runs()
    wait_until(lambda: desk.status(run["run_id"]).get("state") == "finished", "its end is seen")
    summary = desk.status(run["run_id"])
    assert summary["ranks"][0]["steps"] == 60
    assert desk.perftui("stop", run["run_id"]).returncode == 4
    (window,) = summary["profiles"]
    assert (window["state"], window["start_step"], window["steps"]) == ("done", 20, 3)
    replayed = summary_of_recording(desk.state / "perftui" / "runs" / run["run_id"])
    assert [(seen["state"], seen["sentence"]) for seen in replayed["profiles"]] == [
        ("done", window["sentence"])
    ]
