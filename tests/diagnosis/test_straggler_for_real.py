"""Two real gloo ranks, one of them starved: the rule's picture of where each waits, against the fact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perftui.ipc.view import Shares, StepStats
from perftui.trainer.diagnosis import RankSignals, RunSignals, judge


def _signals(folder: Path, rank: int, model: str) -> RankSignals:
    measured: dict[str, dict[str, float]] = json.loads((folder / f"{rank}.json").read_text())
    shares = measured[model]
    step_ms = shares.pop("step_ms")
    return RankSignals(
        rank=rank,
        host="here",
        device="cpu",
        window_steps=25,
        coverage=1.0,
        step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
        shares=Shares(**shares),
    )


@pytest.mark.torch
@pytest.mark.slow
def test_the_starved_rank_is_named_wherever_the_other_one_waits(tmp_path: Path) -> None:
    """Without buffers the other rank waits in backward; with a batch norm's buffers, in forward."""
    script = Path(__file__).with_name("two_gloo_ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, str(script), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for model in ("plain", "buffers"):
        ranks = (_signals(tmp_path, 0, model), _signals(tmp_path, 1, model))
        finding, *others = judge(RunSignals(ranks=ranks, hosts=(), world_size=2)).findings
        assert (finding.code, finding.rank, finding.severity) == ("rank.straggler_input", 1, "critical")
        # on a busy host the exchange itself may take its time; nothing else may be blamed
        assert {other.code for other in others} <= {"comm.exposed"}
        assert "beyond those of rank 1" in finding.evidence[-1].name
