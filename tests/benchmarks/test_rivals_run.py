"""The side-by-side benchmark with real processes: plain ones and perftui, few steps."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rivals.cells import CELLS

ROOT = Path(__file__).parents[2]
SCALE = 0.02
CELL = CELLS["mlp-4-w0"].scaled(SCALE)

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def _benchmark(result: Path, rounds: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.rivals", "--rounds", str(rounds), "--json", str(result)]
    command += ["--scale", str(SCALE), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def _launches(result: Path) -> list[dict[str, Any]]:
    launches: list[dict[str, Any]] = json.loads(result.read_text())["launches"]
    return launches


@pytest.mark.long
def test_rounds_are_measured_proved_kept_and_continued(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    words = ("--cells", "mlp-4-w0", "--arms", "perftui")
    first = _benchmark(result, 1, *words)
    assert first.returncode == 0, first.stderr
    plain, perftui = _launches(result)
    assert [plain["arm"], perftui["arm"]] == ["plain", "perftui"]
    assert (plain["void"], perftui["void"]) == (None, None)
    assert perftui["recorded"]["step"] == CELL.warm_up + CELL.steps
    (bare,), (watched,) = plain["figures"], perftui["figures"]
    assert bare["patched"] == {}
    assert watched["patched"] != {}
    assert bare["steps"] == watched["steps"] == CELL.steps
    assert 0 < bare["cpu_us"] <= bare["wall_us"] * 1.01
    assert plain["lines_out"] + plain["lines_err"] == 0
    assert plain["first_step_s"] > 0
    assert plain["after_last_step_s"] > 0

    second = _benchmark(result, 2, *words)
    assert second.returncode == 0, second.stderr
    launches = _launches(result)
    assert launches[:2] == [plain, perftui]
    assert [(launch["round"], launch["void"]) for launch in launches[2:]] == [(1, None), (1, None)]

    assert _benchmark(result, 1, *words, "--device", "cuda").returncode == 2


def test_processes_that_overlap_measure_one_at_a_time(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    done = _benchmark(result, 1, "--cells", "flood", "--arms", "plain-again", "--ahead", "2")
    assert done.returncode == 0, done.stderr
    launches = _launches(result)
    assert [launch["void"] for launch in launches] == [None, None]
    spans = sorted(
        (figure["first_step_at_ns"], figure["last_step_at_ns"])
        for launch in launches
        for figure in launch["figures"]
    )
    assert spans[0][1] < spans[1][0]


def test_an_interpreter_without_the_tool_is_refused_before_anything_runs(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\necho 'no such tool' >&2\nexit 1\n")
    empty.chmod(0o755)
    done = _benchmark(result, 1, "--arms", "traceml-auto", "--python", f"traceml={empty}")
    assert done.returncode == 2
    assert "traceml-ai cannot be used" in done.stderr
    assert not result.exists()
