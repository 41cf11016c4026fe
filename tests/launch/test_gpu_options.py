"""`--no-nvml` and `--gpu-interval`: from the command line to the run's files, and what a person reads."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.places import run_places
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.summary import DeviceTime, Overhead, RankSummary, Summary
from perftui.ipc.view import DeviceView, GpuView, HostView, Shares
from perftui.trainer.launch.plain_text import status_text
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.telemetry.gpu_rates import (
    INTERVAL_S,
    INTERVAL_VARIABLE,
    OFF_VARIABLE,
    GpuRates,
    interval_or_default,
    rates_of,
)
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.subject import find_subject
from tests.launch.entry import ENTRY


def perftui(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: text for name, text in os.environ.items() if name != INTERVAL_VARIABLE}
    environment.pop(OFF_VARIABLE, None)
    return subprocess.run(
        [*ENTRY, *words],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        env={**environment, **variables},
    )


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ([], {}, (True, None)),
        (["--no-nvml"], {}, (False, None)),
        (["--gpu-interval", "2"], {INTERVAL_VARIABLE: "0.5"}, (True, 2.0)),
        ([], {INTERVAL_VARIABLE: "0.5"}, (True, 0.5)),
    ],
)
def test_what_is_asked_for_is_written_for_the_hub_and_for_trials(
    script: Callable[[str], list[str]],
    words: list[str],
    variables: dict[str, str],
    expected: tuple[bool, float | None],
) -> None:
    done = perftui("run", "--no-tui", *words, "--", *script(""), **variables)
    assert done.returncode == 0
    (line,) = list_runs()
    description = read_record(run_places(line.run_id).description, RunDescription)
    assert description is not None
    assert (description.gpu_readings, description.gpu_interval_s) == expected
    subject = find_subject(RelaunchPlan(set={"loader.num_workers": 1}, run_id=line.run_id))
    assert (subject.gpu_readings, subject.gpu_interval_s) == expected


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (["--gpu-interval", "0.1"], {}, "--gpu-interval 0.1: expected 0.2 to 60 seconds"),
        (["--gpu-interval", "often"], {}, "argument --gpu-interval: invalid float value: 'often'"),
        ([], {INTERVAL_VARIABLE: "often"}, "PERFTUI_GPU_INTERVAL=often: expected a number of seconds"),
        ([], {INTERVAL_VARIABLE: "99"}, "PERFTUI_GPU_INTERVAL 99: expected 0.2 to 60 seconds"),
        ([], {INTERVAL_VARIABLE: "nan"}, "PERFTUI_GPU_INTERVAL nan: expected 0.2 to 60 seconds"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    home: Path, words: list[str], variables: dict[str, str], said: str
) -> None:
    done = perftui("run", "--no-tui", *words, "--", "python", "-c", "", **variables)
    assert done.returncode == 2
    assert done.stderr.startswith(f"perftui: {said}")
    assert len(done.stderr.splitlines()) == 1


def test_the_three_rates_keep_their_proportions() -> None:
    assert rates_of(None) == GpuRates(0.25, 1.0, 30.0)
    assert rates_of(1.0) == GpuRates(1.0, 4.0, 120.0)
    assert interval_or_default("0.5") == 0.5
    for text in (None, "", "often", "1000"):
        assert interval_or_default(text) == INTERVAL_S


def test_gpus_are_told_in_text() -> None:
    gpu = GpuView(
        uuid="GPU-1",
        host="h",
        ranks=[0, 1],
        age_s=0.5,
        name="NVIDIA H200",
        utilisation_share=0.93,
        memory_used_mib=3174.0,
        sm_active_share=0.71,
        throttled_share={"power_cap": 0.31, "thermal_sw": 0.0, "thermal_hw": 0.02},
        energy_j_per_step=18.63,
    )
    summary = _summary([], [gpu, GpuView(uuid="GPU-2", host="h", ranks=[2], age_s=0.5)])
    told = [line.split() for line in status_text(msgspec.to_builtins(summary))]
    assert [
        "GPU",
        "RANKS",
        "SM",
        "TENSOR",
        "DRAM",
        "KERNEL",
        "MiB",
        "W",
        "MHz",
        "CAPPED",
        "HOT",
        "J/STEP",
    ] in told
    row = ["NVIDIA", "H200", "0,1", "71%", "—", "—", "93%", "3174", "—", "—", "31%", "2%", "18.6"]
    assert row in told
    assert ["GPU-2", "2", *["—"] * 10] in told


def _with_device(step_ms: float, comm_ms: float | None) -> RankSummary:
    parts = DeviceView(
        sampled_steps=50,
        step_ms=step_ms,
        wait_ms=0.3,
        h2d_ms=0.4,
        forward_ms=1.25,
        backward_ms=2.0,
        comm_exposed_ms=comm_ms,
        optimizer_ms=0.75,
        other_ms=0.0,
    )
    return RankSummary(
        rank=3,
        host="h",
        device="cuda:3",
        gpu_uuid=None,
        steps=700,
        step_ms=None,
        steps_per_s=None,
        samples_per_s=None,
        boundary="optimizer",
        loss=None,
        shares=Shares(),
        device_ms=DeviceTime(busy=1.0, idle=0.3, parts=parts),
    )


def test_device_times_are_told_in_text() -> None:
    ranks = [_with_device(60.84, 1.2), _with_device(4.7, None)]
    told = status_text(msgspec.to_builtins(_summary(ranks, [])))
    assert (
        "rank 3 device 60.8 ms: wait 0.3 copy 0.4 fwd 1.2 bwd 2.0 comm 1.2 opt 0.8 other 0.0 (50 sampled)"
        in told
    )
    assert (
        "rank 3 device 4.70 ms: wait 0.30 copy 0.40 fwd 1.25 bwd 2.00 opt 0.75 other 0.00 (50 sampled)"
        in told
    )
    without = msgspec.structs.replace(ranks[0], device_ms=DeviceTime())
    assert not any(" sampled)" in line for line in status_text(msgspec.to_builtins(_summary([without], []))))


def _summary(ranks: list[RankSummary], gpus: list[GpuView]) -> Summary:
    return Summary(
        run_id="r",
        name="r",
        command=["python"],
        state="finished",
        exit_code=0,
        stopped_by=None,
        elapsed_s=3.0,
        settings={},
        ranks=ranks,
        gpus=gpus,
        host=HostView(name="h", age_s=0.0),
        findings=[],
        profiles=[],
        overhead=Overhead(),
    )
