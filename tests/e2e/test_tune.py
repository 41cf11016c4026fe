"""`perftui tune` on plain training scripts; what comes out hangs on how busy the host is."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.digests import digests

from .conftest import Desk
from .scripts import SAVING, TWO_RANKS

pytestmark = [pytest.mark.torch, pytest.mark.slow]

ENDS = {"nothing_left": 0, "most_trials": 0, "out_of_time": 0, "contended": 4, "too_noisy": 4}


def tuned(desk: Desk, *words: str) -> dict[str, Any]:
    target = desk.folder.parent / "tuned.json"
    done = desk.perftui("tune", "--yes", "--json", str(target), *words, timeout=900)
    document: dict[str, Any] = json.loads(target.read_text())
    assert done.returncode == (0 if document["final"]["set"] else ENDS[document["reason"]]), done.stderr
    assert document["sentence"] in done.stdout
    return document


def test_a_starved_script_is_searched_and_its_files_stay(desk: Desk) -> None:
    script = desk.script(SAVING)
    (desk.folder / "old-1.pt").write_bytes(b"an old checkpoint")
    (desk.folder / "log.csv").write_text("kept\n")
    before = digests(desk.folder)
    document = tuned(desk, "--most-trials", "1", "--", sys.executable, str(script))
    assert digests(desk.folder) == before
    assert document["baseline"]["launches"]
    assert len(document["trials"]) <= 1
    for trial in document["trials"]:
        assert trial["finding"].startswith("input.")
        assert set(trial["set"]) == {"loader.num_workers"}
        asked = trial["set"]["loader.num_workers"]
        for launch in trial["launches"]:
            if launch["log_step_s"] is not None:
                in_force = launch["effective"]["loader.num_workers"]
                assert in_force == (asked if launch["label"] == "B" else 0)
    lines = json.loads(desk.perftui("ledger", "--json").stdout)["comparisons"]
    ours = [line for line in lines if line["finding"] is not None]
    assert [line["set"] for line in ours] == [trial["set"] for trial in document["trials"]]
    assert [run["state"] for run in desk.runs() if run["state"] == "running"] == []
    again = desk.perftui("tune", "--resume", "--yes", "--most-trials", "1", timeout=900)
    assert document["search_id"] in again.stderr


@pytest.mark.long
def test_two_ranks_are_launched_as_they_were_asked_for(desk: Desk, tmp_path: Path) -> None:
    script = desk.script(TWO_RANKS.replace("count == 150", "count == 100_000"))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    document = tuned(desk, "--most-trials", "1", "--minutes", "3", "--", *torchrun, str(script))
    launches = document["baseline"]["launches"]
    assert launches
    assert document["command"] == [*torchrun, str(script)]
    assert launches[0]["outcome"] in ("stopped", "finished")
    assert launches[0]["steps"] >= 60
