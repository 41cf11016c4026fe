"""A real training, recorded: judged twice from its recording it gives what the run itself said."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.findings import Finding
from perftui.ipc.places import run_places
from perftui.ipc.recording import read_recording
from perftui.trainer.diagnosis import Judgement, judge
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import Judge
from perftui.trainer.hub.run_signals import signals_of
from perftui.trainer.launch.replay import summary_of_recording

_SCRIPT = """
import time, torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self): return 640
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.full((32,), float(index))

model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), 1e-9)
for epoch in range(2):
    for batch in DataLoader(Rows(), batch_size=8):
        model(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.torch
@pytest.mark.slow
def test_a_recording_is_judged_alike_every_time(runtime_dirs: object, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT)
    command = [sys.executable, "-m", "perftui.tui", "run", "--no-tui", "--json", "out.json", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    recording = run_places(said["run_id"]).recording
    judgements: list[Judgement] = []
    shown: list[tuple[list[list[str]], list[Finding]]] = []
    for _ in range(2):
        fold, steadied, judged_unix = RunFold(), Judge(), 0.0
        looks: list[list[str]] = []
        for entry in read_recording(recording):
            fold.apply(entry)
            if entry.unix - judged_unix >= 1.0:
                judged_unix = entry.unix
                steadied.look(fold, entry.unix)
                looks.append([finding.code for finding in steadied.findings])
        judgements.append(judge(signals_of(fold, whole_run=True, outcome="finished")))
        shown.append((looks, steadied.findings))
    assert judgements[0] == judgements[1]
    assert shown[0] == shown[1]
    # which of the names of a wait depends on what else the host does, storage too, in so short a run
    wait = next(f.code for f in judgements[0].findings if f.code in ("input.workers", "input.storage"))
    assert [f["code"] for f in said["findings"] if not f["code"].startswith("self.")] == [
        f.code for f in judgements[0].findings if not f.code.startswith("self.")
    ]
    replayed = [summary_of_recording(run_places(said["run_id"]).state) for _ in range(2)]
    assert replayed[0]["findings"] == replayed[1]["findings"]
    seen = {f["code"]: (f["first_step"], f["first_s"]) for f in said["findings"]}
    again = {f["code"]: (f["first_step"], f["first_s"]) for f in replayed[0]["findings"]}
    assert again[wait] == seen[wait]
    first_step, first_s = seen["input.workers"]
    assert 0 < first_step <= said["ranks"][0]["steps"]
    assert 0 < first_s <= said["elapsed_s"]
    place = next(f for f in judgements[0].findings if f.code == "input.workers").remedy
    assert place is not None
    assert "train.py:8" in (place.at or "")
