"""The stop ladder over many shapes of trainings, once each; over and over in `make test-long`.

`LADDER_TIMES` says how many stops the long campaign makes (200).
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.orphans import end_orphans, is_orphaned
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch, request_stop, wait_for_exit
from perftui.trainer.telemetry.processes import start_ticks, tagged_pids
from tests.waiting import wait_until

from .shapes_to_stop import LAUNCHES, SHAPES, Shape

ENDED_WITHIN_S = 90.0
TIMES = int(os.environ.get("LADDER_TIMES", "200"))


class Stage:
    """Folders of one stop, and a decoy: the same user, the same script, the same words."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        folder.mkdir()
        self.folder, self.shape = folder, shape
        self.saved = folder / "saved"
        self.script = folder / "train.py"
        self.script.write_text(shape.text)
        self.decoy = self._decoy()

    def _decoy(self) -> "subprocess.Popen[bytes]":
        """Start the same script name by itself, with the tag of a run whose id begins alike."""
        away = self.folder / "elsewhere"
        away.mkdir()
        (away / "train.py").write_text("import time\ntime.sleep(600)\n")
        tags = {"PERFTUI_RUN_ID": "train-another-run"}
        return subprocess.Popen([sys.executable, "train.py"], cwd=away, env={**os.environ, **tags})

    def start(self) -> RunPlaces:
        command = self.shape.through([sys.executable, str(self.script)])
        if self.shape.ranks:
            options = ["--standalone", f"--nproc-per-node={self.shape.ranks}"]
            options += [f"--max-restarts={self.shape.restarts}"] if self.shape.restarts else []
            command = ["torchrun", *options, str(self.script)]
        trial = self.shape.kills == "keeper"
        env = {"SAVED": str(self.saved), "CHILD": str(self.script)}
        spec = LaunchSpec(command, self.folder, stdio="log", trial=trial, die_with=trial, env=env)
        places = launch(spec, hub=[])
        lines = max(1, self.shape.ranks)
        wait_until(lambda: len(ready_lines(places)) == lines, f"{self.shape.name}: ready")
        return places

    def leave(self) -> None:
        still_there = self.decoy.poll() is None
        self.decoy.kill()
        self.decoy.wait()
        assert still_there, "the ladder ended what is not ours"


def ready_lines(places: RunPlaces) -> list[str]:
    if not places.console.exists():
        return []
    return [line for line in places.console.read_text().splitlines() if line.startswith("ready")]


def description_of(places: RunPlaces) -> RunDescription:
    wait_until(lambda: known(places) is not None, "its pids are known")
    found = known(places)
    assert found is not None
    return found


def known(places: RunPlaces) -> RunDescription | None:
    found = read_record(places.description, RunDescription)
    return found if found is not None and found.training_pid is not None else None


def stop(stage: Stage, places: RunPlaces) -> None:
    """Stop it in the way of its shape, and check that nothing is left."""
    shape, description = stage.shape, description_of(places)
    if shape.kills == "keeper":
        assert description.keeper_pid is not None
        assert description.keeper_start_ticks is not None
        assert send_signal(description.keeper_pid, description.keeper_start_ticks, signal.SIGKILL)
        wait_until(lambda: is_orphaned(description), "its keeper is gone")
        end_orphans()
    elif shape.kills == "command":
        assert description.training_pid is not None
        os.kill(description.training_pid, signal.SIGKILL)
    else:
        ranks = [int(line.split()[1]) for line in ready_lines(places) if shape.ranks]
        trainers = [(pid, start_ticks(pid) or 0) for pid in ranks]
        request_stop(places, "user", trainers, grace_s=shape.grace_s)
    record = wait_for_exit(places, ENDED_WITHIN_S)
    assert start_ticks(description.training_pid or 0) != description.training_start_ticks
    check(stage, places, record)


def check(stage: Stage, places: RunPlaces, record: ExitRecord | None) -> None:
    shape = stage.shape
    assert record is not None, f"{shape.name}: did not end"
    assert record.survivors == []
    assert tagged_pids(places.run_id) == {}
    expected = {"keeper": "lost", "command": record.outcome}.get(shape.kills, "stopped")
    assert record.outcome == expected
    if shape.saves:
        assert stage.saved.exists(), f"{shape.name}: no checkpoint"
        assert stage.saved.read_text() == "whole"


@pytest.fixture
def stages(home: Path) -> Iterator[list[Stage]]:
    made: list[Stage] = []
    yield made
    for stage in made:
        stage.leave()


def one(shape: Shape, number: int, home: Path, stages: list[Stage], delay_s: float = 0.0) -> None:
    stage = Stage(home / f"stop{number}", shape)
    stages.append(stage)
    places = stage.start()
    time.sleep(delay_s)
    try:
        stop(stage, places)
    finally:
        for pid, ticks in tagged_pids(places.run_id).items():
            send_signal(pid, ticks, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, id=shape.name, marks=[pytest.mark.torch] if shape.torch else [])
        for shape in SHAPES
    ],
)
def test_every_shape_ends_whole(shape: Shape, home: Path, stages: list[Stage]) -> None:
    one(shape, 0, home, stages)


@pytest.mark.slow
def test_a_launcher_that_knows_nothing_of_signals(home: Path, stages: list[Stage]) -> None:
    """As `accelerate launch` and many a wrapper: the rank alone is told, and the launcher ends with it."""
    shape = SHAPES[0]
    stage = Stage(home / "launcher", shape)
    stages.append(stage)
    launcher = stage.folder / "launcher.py"
    launcher.write_text(LAUNCHES)
    env = {"SAVED": str(stage.saved), "CHILD": str(stage.script)}
    places = launch(LaunchSpec([sys.executable, str(launcher)], stage.folder, stdio="log", env=env), hub=[])
    wait_until(lambda: len(ready_lines(places)) == 1, "ready")
    description = description_of(places)
    ranks = {
        pid: ticks for pid, ticks in tagged_pids(places.run_id).items() if pid != description.training_pid
    }
    request_stop(places, "user", list(ranks.items()))
    check(stage, places, wait_for_exit(places, ENDED_WITHIN_S))


@pytest.mark.long
@pytest.mark.torch
def test_campaign_of_stops(home: Path, stages: list[Stage], capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(f"{TIMES}")
    failures: list[str] = []
    for number in range(TIMES):
        shape = SHAPES[number % len(SHAPES)]
        try:
            one(shape, number, home, stages, chance.uniform(0, 1.5))
            stages.pop().leave()
        except AssertionError as error:
            failures.append(f"{number} {shape.name}: {error}")
        with capsys.disabled():
            sys.stdout.write(f"{number + 1} of {TIMES}: {shape.name}; {len(failures)} failed so far\n")
    assert failures == []
