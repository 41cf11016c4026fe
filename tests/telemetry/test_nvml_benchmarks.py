"""The benchmarks of reading GPUs: they run (here on the stand-in), and say in one line what they lack."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import environment_with

ROOT = Path(__file__).parents[2]


def run(name: str, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *words],
        cwd=ROOT,
        env=environment_with(folder, "good"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_cost_of_every_call_and_reading(library_folder: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    words = ("--gpus", "1", "3", "--readings", "6", "--between", "0.11", "--json", str(result))
    done = run("nvml_cost", library_folder, *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(result.read_text())
    assert (told["driver"], told["gpus"]) == ("999.1", ["Stand-in 1", "Stand-in 2"])
    one, three = told["idle"]
    assert one["reading_ms"]["fast"]["n"] == 5
    assert one["reading_ms"]["slow"]["n"] == 1
    calls = one["calls_us"]
    assert calls["nvmlDeviceGetUtilizationRates"]["n"] == 6
    assert three["calls_us"]["nvmlDeviceGetUtilizationRates"]["n"] == 18
    assert calls["nvmlGpmMetricsGet"]["n"] == 5  # a first sample has nothing to be compared with
    assert three["calls_us"]["nvmlGpmMetricsGet"]["n"] == 15  # each name has samples of its own
    assert calls["nvmlDeviceGetFieldValues (5 fields: 74, 76, 269, 270, 271)"]["n"] == 6
    assert told["fields"]["82"]["value"] == 77
    assert list(told["gpm_us_by_metrics"]) == ["1", "3", "5", "7", "9"]
    assert "| `nvmlDeviceGetPowerUsage` |" in done.stdout


@pytest.mark.torch
def test_ratios_of_step_times(library_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    result = tmp_path / "result.json"
    words = ("--uuid", "GPU-aaaa", "--pairs", "2", "--block", "0.3", "--loops", "churn", "--gpus", "0", "3")
    done = run("nvml_intrusion", library_folder, *words, "--json", str(result))
    assert done.returncode == 0, done.stderr
    none, three = json.loads(result.read_text())["parts"]
    assert (none["readings"], none["period_s"]) == (0, None)
    assert three["readings"] >= 2
    for part in (none, three):
        assert part["mean"]["lo"] <= part["mean"]["ratio"] <= part["mean"]["hi"]
        assert part["step_ms_off"] > 0


@pytest.mark.torch
def test_without_a_gpu_one_line_says_so(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    for name, said in (("nvml_cost", "NVML"), ("nvml_intrusion", "torch sees no CUDA device")):
        done = run(name, tmp_path)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"{name.removesuffix('.py')}: {said}")
