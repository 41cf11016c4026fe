"""Differences that clocks, throttling or neighbours explain are not called gains, others are."""

import math
from typing import Any

import msgspec
import pytest

from perftui.ipc.ledger_records import Circumstances, Launch
from perftui.trainer.tuning.explained import explains, is_loaded, reasons
from perftui.trainer.tuning.judge import judge, next_launch, unit_of
from perftui.trainer.tuning.regression import DEFAULT_NOISE

CPUS = 4.0


def launch(label: str, step_s: float, foreign: float | None = 0.1, **circumstances: object) -> Launch:
    return Launch(
        run_id="r",
        label="A" if label == "A" else "B",
        settings={},
        outcome="stopped",
        steps=100,
        log_step_s=math.log(step_s),
        se=0.003,
        df=12.0,
        step_ms=1000 * step_s,
        startup_s=5.0,
        foreign_cores=foreign,
        circumstances=msgspec.convert(circumstances, Circumstances),
    )


def word(*launches: Launch) -> str:
    return judge(launches, DEFAULT_NOISE, CPUS).verdict


def test_a_gain_that_is_the_clock_s_is_not_called_one() -> None:
    a, b = launch("A", 0.115, sm_clock_mhz=1600.0), launch("B", 0.1, sm_clock_mhz=1980.0)
    verdict = judge([a, b], DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "inconclusive"
    assert verdict.gain == pytest.approx(0.15)
    assert verdict.sentence.endswith(
        "the GPU ran at 1600 MHz in A and at 1980 MHz in B, which may be all of it"
    )
    assert next_launch([a, b], DEFAULT_NOISE, CPUS, 4) == "B"
    assert word(launch("A", 0.3, sm_clock_mhz=1600.0), b) == "faster"
    assert word(launch("A", 0.115, sm_clock_mhz=1980.0), launch("B", 0.1, sm_clock_mhz=1600.0)) == "faster"
    assert word(launch("A", 0.115, sm_clock_mhz=1975.0), b) == "faster"


def test_a_loss_that_is_the_clock_s_is_not_called_one() -> None:
    a, b = launch("A", 0.1, sm_clock_mhz=1980.0), launch("B", 0.12, sm_clock_mhz=1600.0)
    assert word(a, b) == "inconclusive"
    assert word(a, launch("B", 0.15, sm_clock_mhz=1600.0)) == "slower"


def test_a_clock_explains_only_what_the_gpu_computed() -> None:
    idle = {"utilisation_share": 0.1}
    a = launch("A", 0.115, sm_clock_mhz=1600.0, **idle)
    assert word(a, launch("B", 0.1, sm_clock_mhz=1980.0, **idle)) == "faster"


def test_heat_is_named_and_counts_where_clocks_are_not_known() -> None:
    hot: dict[str, Any] = {"throttled_share": {"thermal_hw": 0.4, "power_cap": 0.9}}
    (reason,) = reasons([launch("A", 0.13, **hot), launch("B", 0.1)], CPUS)
    assert reason.words == "heat or the power supply held its clocks down for 40% of A"
    assert word(launch("A", 0.13, **hot), launch("B", 0.1)) == "inconclusive"
    clocks = [launch("A", 0.1, sm_clock_mhz=1400.0, **hot), launch("B", 0.1, sm_clock_mhz=1900.0)]
    (reason,) = reasons(clocks, CPUS)
    assert "held its clocks down for 40% of A" in reason.words
    assert reason.favours_b == pytest.approx(math.log(1900 / 1400))
    assert reasons([launch("A", 0.1, throttled_share={"power_cap": 0.9}), launch("B", 0.1)], CPUS) == []


def test_a_neighbour_of_one_setting_alone_is_no_gain_of_the_other() -> None:
    beside = launch("A", 0.13, 1.5, busy_cores=4.0)
    assert word(beside, launch("B", 0.1, busy_cores=4.0)) == "inconclusive"
    assert word(launch("A", 0.1, busy_cores=3.9), launch("B", 0.13, 1.5, busy_cores=3.9)) == "inconclusive"
    assert word(launch("A", 0.13, 1.5), launch("B", 0.1, 1.5)) == "faster"
    assert word(launch("A", 0.13, 1.5, busy_cores=2.5), launch("B", 0.1, busy_cores=1.2)) == "faster"
    assert word(launch("A", 0.5, 1.5, busy_cores=4.0), launch("B", 0.1, busy_cores=4.0)) == "faster"
    assert word(launch("A", 0.13, None), launch("B", 0.1, 1.5)) == "faster"


def test_a_neighbour_on_the_gpu_of_one_setting_alone_is_no_gain_of_the_other() -> None:
    shared, alone = {"foreign_processes": 1.0}, {"foreign_processes": 0.0}
    assert word(launch("A", 0.15, **shared), launch("B", 0.1, **alone)) == "inconclusive"
    assert word(launch("A", 0.15, **shared), launch("B", 0.1, **shared)) == "faster"
    assert word(launch("A", 0.3, **shared), launch("B", 0.1, **alone)) == "faster"


def test_reasons_for_both_sides_do_not_cancel() -> None:
    found = reasons(
        [
            launch("A", 0.1, sm_clock_mhz=1600.0, foreign_processes=0.0),
            launch("B", 0.1, sm_clock_mhz=2000.0, foreign_processes=1.0),
        ],
        CPUS,
    )
    assert [math.copysign(1, each.favours_b) for each in found] == [1, -1]
    assert explains(found, 0.2, 0.3)
    assert explains(found, -0.7, -0.6)
    assert not explains(found, 0.3, 0.4)
    assert not explains(found, -0.1, 0.1)


def test_contention_is_measured_by_the_host() -> None:
    assert is_loaded(0.5, 2)
    assert not is_loaded(0.5, 64)


def test_other_work_a_step_is_compared_by_the_sample() -> None:
    small = [msgspec.structs.replace(launch("A", 0.1), samples_per_step=32.0)]
    large = [msgspec.structs.replace(launch("B", 0.15), samples_per_step=64.0)]
    verdict = judge(small + large, DEFAULT_NOISE, CPUS)
    assert (verdict.verdict, verdict.per) == ("faster", "sample")
    assert verdict.gain == pytest.approx(64 / 32 * 0.1 / 0.15 - 1)
    assert verdict.sentence.endswith("per sample, for steps hold different numbers of them")
    assert verdict.payback_steps is None
    nearly = msgspec.structs.replace(large[0], samples_per_step=32.3)
    assert unit_of([*small, nearly]) == "step"
    unknown = msgspec.structs.replace(large[0], samples_per_step=None)
    assert judge([*small, unknown], DEFAULT_NOISE, CPUS).verdict == "slower"


def test_memory_energy_and_payback_stand_beside_the_speed() -> None:
    a = launch("A", 0.2, gpu_memory_mib=4000.0, energy_j_per_step=50.0, compile_s=0.0)
    b = launch("B", 0.1, gpu_memory_mib=5200.0, energy_j_per_step=40.0, compile_s=30.0)
    verdict = judge([a, b], DEFAULT_NOISE, CPUS)
    assert verdict.memory_change_mib == 1200.0
    assert verdict.energy_change == pytest.approx(-0.2)
    assert verdict.payback_steps == 300
    assert verdict.notes == [
        "GPU memory: 4000 MiB at most before, 5200 MiB after (+1200 MiB)",
        "energy: 50 J a step before, 40 J after (-20%)",
        "the start takes 30 s longer, which 300 steps make up for",
    ]
    slower = judge([b, msgspec.structs.replace(a, label="B")], DEFAULT_NOISE, CPUS)
    assert slower.payback_steps is None
    plain = judge([launch("A", 0.2), launch("B", 0.1)], DEFAULT_NOISE, CPUS)
    assert (plain.memory_change_mib, plain.energy_change, plain.payback_steps) == (None, None, None)
    assert plain.notes == []


def test_a_longer_start_without_figures_of_compilations_counts_too() -> None:
    late = msgspec.structs.replace(launch("B", 0.1), startup_s=25.0)
    verdict = judge([launch("A", 0.2), late], DEFAULT_NOISE, CPUS)
    assert verdict.payback_steps == 200
