"""The wall clock is set back and forth by days while a run goes on: nothing is ordered or timed by it."""

import ast
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.waiting import wait_until

from .conftest import Desk
from .phased import PHASES, STEPS, Phased

ROOT = Path(__file__).parents[2]
DAY_S = 86_400
OF_THE_WALL = {"time", "time_ns"}
MAY_ASK = {
    "run_clock.py",  # where a run began that says nothing of the monotonic clock
    "step_windows.py",  # all that clocks of two time namespaces have in common
    "server.py",  # says when a frame was sent
}


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock_that_is_set.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("first", [-3 * DAY_S, pytest.param(3 * DAY_S, marks=pytest.mark.long)])
def test_a_run_is_told_as_if_nothing_had_happened(
    desk: Desk, preload: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    setting = desk.folder / "set-by"
    setting.write_text("0")
    monkeypatch.setenv("LD_PRELOAD", str(preload))
    monkeypatch.setenv("CLOCK_IS_SET_BY", str(setting))
    training = Phased(desk)
    began = time.monotonic()

    def step_clock(phase: str) -> None:
        at = PHASES.index(phase)
        if phase == "later":
            wait_until(lambda: desk.steps(training.run_id) == 140, "its steps are told")
            (rank,) = desk.status(training.run_id)["ranks"]
            assert rank["dropped"] == 0
        if phase == "ending":
            wait_until(lambda: desk.steps(training.run_id) == STEPS - 1, "all steps that have ended are told")
        setting.write_text(str((first, -first, first, 0)[at]))

    training.unharmed(step_clock, "--json", "out.json")
    took = time.monotonic() - began
    summary = json.loads((desk.folder / "out.json").read_text())
    (rank,) = summary["ranks"]
    assert (rank["steps"], summary["exit_code"], summary["stopped_by"]) == (STEPS, 7, None)
    assert 0 < summary["elapsed_s"] < took
    assert 0 < rank["step_ms"]["p50"] < 1000 * took
    assert sum(rank["phases_s"].values()) == pytest.approx(summary["elapsed_s"], abs=took)
    assert [each["code"] for each in summary["findings"] if each["code"].startswith("drift")] == []


@pytest.mark.torch
@pytest.mark.long
def test_a_limit_of_seconds_is_held(desk: Desk, preload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back by a day in mid-run, `--seconds` would never be over; set forth, at once."""
    setting = desk.folder / "set-by"
    setting.write_text("0")
    monkeypatch.setenv("LD_PRELOAD", str(preload))
    monkeypatch.setenv("CLOCK_IS_SET_BY", str(setting))
    from .scripts import STARVED

    script = desk.script(STARVED)
    command = ["run", "--no-tui", "--no-window", "--seconds", "3", "--json", "out.json", "--"]
    process = desk.start(*command, "python", str(script), "100000", "0", "0.004")
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 5, "it trains")
    setting.write_text(str(-DAY_S))
    process.communicate(timeout=90)
    summary = json.loads((desk.folder / "out.json").read_text())
    assert summary["stopped_by"] == "seconds"
    assert 3 < summary["elapsed_s"] < 90


def test_the_hub_asks_the_run_s_clock_alone() -> None:
    asked: list[str] = []
    for path in [*(ROOT / "trainer/hub").glob("*.py"), *(ROOT / "trainer/telemetry").glob("*.py")]:
        if path.name not in MAY_ASK:
            asked += [f"{path.name}:{node.lineno}" for node in _calls_of_the_wall(path)]
    assert asked == []


def _calls_of_the_wall(path: Path) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "time"
        and node.func.attr in OF_THE_WALL
    ]
