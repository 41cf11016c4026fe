"""The GPU sampler and who watches it, against a stand-in NVML library that hangs, dies and is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perftui.trainer.telemetry.gpu import GpuTelemetry
from perftui.trainer.telemetry.gpu_rates import OFF_VARIABLE, GpuRates
from perftui.trainer.telemetry.gpu_readings import FIGURES
from perftui.trainer.telemetry.sampler_supervisor import GpuTiming

from .conftest import (
    FAST,
    PATIENCE_S,
    QUICK,
    SHORT,
    Behaviour,
    Start,
    environment_with,
    gone,
    poll_until,
    settled,
)


def test_two_gpus_are_read_by_uuid_and_joined_to_their_ranks(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"bbbb": [3, 2], "GPU-aaaa": [0]})
    second, first = poll_until(telemetry, settled)
    assert (second.uuid, second.ranks, second.name) == ("bbbb", [2, 3], "Stand-in 2")
    assert (first.uuid, first.ranks, first.name, first.host) == ("GPU-aaaa", [0], "Stand-in 1", "here")
    assert (first.utilisation_share, second.utilisation_share) == (41 * 0.01, 42 * 0.01)
    assert telemetry.note is None


def test_a_gpu_named_later_is_read_and_one_no_longer_named_is_gone(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    poll_until(telemetry, settled)
    telemetry.watch({"GPU-bbbb": [1]})
    (view,) = poll_until(telemetry, settled)
    assert view.name == "Stand-in 2"
    telemetry.watch({})
    assert telemetry.poll() == []
    telemetry.watch({"GPU-cccc": [1]})
    (view,) = poll_until(telemetry, settled)
    assert view.name == "Stand-in 3"


def test_a_gpu_that_the_library_does_not_know_costs_only_itself(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0], "GPU-zzzz": [1]})
    known, unknown = poll_until(telemetry, settled)
    assert known.utilisation_share is not None
    assert unknown.missing == dict.fromkeys(FIGURES, "Not Found")
    assert all(getattr(unknown, figure) is None for figure in FIGURES)


def test_the_sampler_tells_what_it_costs_and_how_old_its_readings_are(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    (view,) = poll_until(telemetry, lambda views: views[0].sampler_cpu_share is not None and settled(views))
    assert view.backend == "NVML 999.1"
    assert view.period_s is not None
    assert view.period_s >= QUICK.fast_s  # longer on a machine so busy that a reading takes long
    assert view.sweep_ms is not None
    assert view.sweep_ms > 0
    assert view.sampler_cpu_share is not None
    assert 0 < view.sampler_cpu_share < 1.5
    assert set(view.ages_s) == {"fast", "slow", "rare"}
    assert view.age_s == min(view.ages_s.values())
    assert all(age_s >= 0 for age_s in view.ages_s.values())


@pytest.mark.parametrize("behaving", ["hang:utilisation", "hang:gpm_metrics", "hang:energy", "hang:fields"])
def test_a_call_that_hangs_is_named_and_the_sampler_replaced(start: Start, behaving: str) -> None:
    telemetry = start(behaving, SHORT)
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    first = telemetry.sampler_pid
    assert first is not None
    call = {
        "hang:utilisation": "nvmlDeviceGetUtilizationRates",
        "hang:gpm_metrics": "nvmlGpmMetricsGet",
        "hang:energy": "nvmlDeviceGetTotalEnergyConsumption",
        "hang:fields": "nvmlDeviceGetFieldValues",
    }[behaving]
    (view,) = poll_until(telemetry, lambda _: f"(in {call})" in (telemetry.note or ""))
    assert (telemetry.note or "").startswith("GPU driver not answering for ")
    assert view.power_w is None
    poll_until(telemetry, lambda _: telemetry.sampler_pid not in {first, None})
    assert gone(first)
    (view,) = telemetry.poll()
    assert "not answering" in view.missing["power_w"]
    assert view.age_s > 3.0


def test_a_library_that_hangs_as_it_starts_is_said_and_tried_again(start: Start) -> None:
    timing = GpuTiming(rates=QUICK, deadline_s=1.0, start_deadline_s=6.0, pause_s=0.1)
    telemetry = start("hang_at_start", timing)
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    first = telemetry.sampler_pid
    assert first is not None
    poll_until(telemetry, lambda _: "(in nvmlInit)" in (telemetry.note or ""))
    poll_until(telemetry, lambda _: telemetry.sampler_pid not in {first, None})
    assert gone(first)


def test_a_driver_that_hangs_in_the_middle_and_comes_back(start: Start, behaviour: Behaviour) -> None:
    telemetry = start(str(behaviour.path), SHORT)
    telemetry.watch({"GPU-aaaa": [0]})
    poll_until(telemetry, settled)
    behaviour.set("hang:fields")
    (view,) = poll_until(telemetry, lambda views: views[0].sm_active_share is None)
    assert "not answering" in view.missing["sm_active_share"]
    assert "not answering" in view.missing["energy_j_per_step"]
    behaviour.set("good")
    (view,) = poll_until(telemetry, settled)
    assert telemetry.note is None
    assert view.utilisation_share == 41 * 0.01


def test_closing_ends_a_hanging_sampler(start: Start) -> None:
    telemetry = start("hang:utilisation", GpuTiming(rates=QUICK, deadline_s=60.0))
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    pid = telemetry.sampler_pid
    assert pid is not None
    telemetry.close()
    assert telemetry.sampler_pid is None
    assert gone(pid)


def test_figures_older_than_the_deadline_are_not_shown(start: Start) -> None:
    telemetry = start("good", SHORT)
    telemetry.watch({"GPU-aaaa": [0]})
    poll_until(telemetry, settled)
    pid = telemetry.sampler_pid
    assert pid is not None
    os.kill(pid, 19)  # SIGSTOP: it lives and says nothing
    (view,) = poll_until(telemetry, lambda views: views[0].utilisation_share is None)
    assert "not answering" in view.missing["utilisation_share"]
    poll_until(telemetry, settled)
    assert telemetry.sampler_pid != pid
    assert telemetry.note is None


def test_a_sampler_that_dies_is_started_again(start: Start) -> None:
    telemetry = start("good")
    telemetry.watch({"GPU-aaaa": [0]})
    poll_until(telemetry, settled)
    pid = telemetry.sampler_pid
    assert pid is not None
    os.kill(pid, 9)
    poll_until(telemetry, lambda _: telemetry.sampler_pid not in {pid, None})
    poll_until(telemetry, lambda _: telemetry.note is None)


def test_a_driver_that_is_not_loaded_is_named_and_looked_for_again(start: Start) -> None:
    telemetry = start("no_driver")
    telemetry.watch({"GPU-aaaa": [0]})
    telemetry.poll()
    pid = telemetry.sampler_pid
    poll_until(telemetry, lambda _: (telemetry.note or "").endswith("NVML: Driver Not Loaded"))
    (view,) = poll_until(telemetry, lambda _: telemetry.sampler_pid not in {pid, None})
    assert view.missing == dict.fromkeys(FIGURES, telemetry.note)


def test_an_absent_library_is_named(tmp_path: Path) -> None:
    telemetry = GpuTelemetry(
        "here", sys.executable, environment=environment_with(tmp_path, "good"), timing=FAST
    )
    try:
        telemetry.watch({"GPU-aaaa": [0]})
        (view,) = poll_until(telemetry, lambda views: telemetry.note is not None or settled(views))
        if telemetry.note is None:
            pytest.skip("this machine has a real NVML library")
        assert telemetry.note.endswith("NVML: NVML Shared Library Not Found")
        assert set(view.missing) == set(FIGURES)
    finally:
        telemetry.close()


def test_nothing_is_started_while_no_rank_uses_a_gpu(start: Start) -> None:
    telemetry = start("good")
    assert telemetry.poll() == []
    assert telemetry.sampler_pid is None


def test_the_off_switch_keeps_nvml_untouched() -> None:
    for telemetry in (
        GpuTelemetry("here", sys.executable, enabled=False),
        GpuTelemetry("here", sys.executable, environment={OFF_VARIABLE: "1"}),
    ):
        telemetry.watch({"GPU-aaaa": [0]})
        (view,) = telemetry.poll()
        assert telemetry.sampler_pid is None
        assert "switched off" in (telemetry.note or "")
        assert view.missing == dict.fromkeys(FIGURES, telemetry.note)
        telemetry.close()


def test_the_sampler_ends_with_its_hub(library_folder: Path) -> None:
    """Standard input closes when the hub dies, whatever killed it."""
    rates = GpuRates()
    periods = [str(period_s) for period_s in (rates.fast_s, rates.slow_s, rates.rare_s)]
    command = [sys.executable, "-m", "perftui.trainer.telemetry.gpu_sampler", *periods]
    environment = environment_with(library_folder, "hang_at_start")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
