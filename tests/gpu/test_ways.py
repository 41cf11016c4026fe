"""Steps and device times of trainings on a real GPU, against the events of their own scripts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
import torch

from perftui.ipc.messages import DeviceSteps
from perftui.ipc.places import run_places
from perftui.ipc.recording import read_recording
from tests.conftest import RuntimeDirs

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]

WAYS = Path(__file__).with_name("ways.py")
STEPS = 200
NAMES = (
    "plain",
    "on_a_side_stream",
    "scaled",
    "stepping_in_the_backward",
    "copied_on_a_side_stream",
    "replayed",
    "of_graphed_callables",
    "compiled_with_graphs",
)
OFF = 0.05
"""Share by which medians may differ: of a part, and of a step."""
READING_MS = 0.15
"""Between the script's mark and ours the thread may issue nothing for so long."""


@pytest.mark.parametrize("way", NAMES)
def test_steps_and_times_are_the_scripts_own(way: str, runtime_dirs: RuntimeDirs, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "perftui.tui", "run", "--no-tui", "--json", str(summary), "--"),
            *(sys.executable, str(WAYS), way, str(STEPS)),
        ],
        env=os.environ | {"PERFTUI_PHASES": "all"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own = json.loads(done.stdout.splitlines()[-1])
    told = json.loads(summary.read_text())
    (rank,) = told["ranks"]
    assert rank["steps"] == own.pop("steps")
    assert rank["probe_errors"] == 0
    recording = run_places(told["run_id"]).recording
    batches = [entry.message for entry in read_recording(recording) if isinstance(entry.message, DeviceSteps)]
    if way == "replayed":
        assert batches == [], "a graph that is replayed has no parts"
        return
    assert {ms for batch in batches for ms in batch.forward_ms} == {-1.0}, "not known, and not zero"
    for name, expected_ms in own.items():
        heard = [ms for batch in batches for ms in getattr(batch, f"{name}_ms")]
        assert median(heard[len(heard) // 2 :]) == pytest.approx(expected_ms, rel=OFF, abs=READING_MS), name
