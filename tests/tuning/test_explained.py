"""Differences that clocks, throttling or neighbours explain are not called gains, others are."""

import math
from typing import Any

import msgspec
import pytest

from perftui.ipc.ledger_records import Circumstances, Launch
from perftui.trainer.tuning.explained import explains, is_loaded, reasons, without_cold
from perftui.trainer.tuning.judge import judge, next_launch
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.work_of_steps import unit_of
from tests.made_ledger import measured_launch

CPUS = 4.0
KNOWN = Noise(0.01, 8.0, foreign_cores=1.5)
"""Learned, beside other work too."""


def launch(label: str, step_s: float, foreign: float | None = 0.1, **circumstances: object) -> Launch:
    return measured_launch(
        label,
        step_s,
        step_ms=1000 * step_s,
        startup_s=5.0,
        foreign_cores=foreign,
        circumstances=msgspec.convert(circumstances, Circumstances),
    )


def word(*launches: Launch) -> str:
    return judge(launches, KNOWN, CPUS).verdict


def test_a_gain_that_is_the_clock_s_is_not_called_one() -> None:
    a, b = launch("A", 0.115, sm_clock_mhz=1600.0), launch("B", 0.1, sm_clock_mhz=1980.0)
    verdict = judge([a, b], KNOWN, CPUS)
    assert verdict.verdict == "inconclusive"
    assert verdict.gain == pytest.approx(0.15)
    assert verdict.sentence.endswith(
        "the GPU ran at 1600 MHz in A and at 1980 MHz in B, which may be all of it"
    )
    assert next_launch([a, b], KNOWN, CPUS, 4) == "B"
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


COLD, WARM = {"storage_mib_per_step": 6.0}, {"storage_mib_per_step": 0.1}


def test_a_baseline_that_read_cold_files_proves_nothing_until_it_is_launched_again() -> None:
    a, b = launch("A", 0.3, **COLD), launch("B", 0.1, **WARM)
    verdict = judge([a, b], KNOWN, CPUS)
    assert verdict.verdict == "inconclusive"
    assert "A read 6 MiB a step from storage, B found most of it in memory" in verdict.sentence
    assert [next_launch([a, b, b][:done], KNOWN, CPUS, 4) for done in (2, 3)] == ["B", "A"]
    warm = launch("A", 0.1, **WARM)
    same = judge([a, b, b, warm], KNOWN, CPUS)
    assert same.verdict == "inconclusive"
    assert same.gain == pytest.approx(0.0, abs=0.01)
    assert same.sentence.endswith(
        "not counted: 1 launch that read from storage what later ones found in memory"
    )
    real = judge([a, b, b, launch("A", 0.15, **WARM)], KNOWN, CPUS)
    assert (real.verdict, real.launches) == ("faster", 4)
    assert real.gain == pytest.approx(0.5, abs=0.01)


def test_a_change_that_reads_less_each_time_is_none_of_the_page_cache() -> None:
    a, b = launch("A", 0.3, **COLD), launch("B", 0.1, **WARM)
    assert judge([a, b, b, a], KNOWN, CPUS).verdict == "faster"
    assert without_cold([a, b, b, a]) == [a, b, b, a]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, WARM),  # not measured
        (COLD, {"storage_mib_per_step": 4.0}),  # more data than memory: both read
        ({"storage_mib_per_step": 0.2}, {"storage_mib_per_step": 0.0}),  # next to nothing
    ],
)
def test_reading_that_is_alike_or_small_explains_nothing(
    before: dict[str, float], after: dict[str, float]
) -> None:
    assert word(launch("A", 0.3, **before), launch("B", 0.1, **after)) == "faster"


def test_cold_files_of_the_change_do_not_make_it_slower() -> None:
    b, a = launch("B", 0.3, **COLD), launch("A", 0.1, **WARM)
    assert word(b, a) == "inconclusive"
    assert word(launch("A", 0.1, **WARM), b, launch("B", 0.05, **WARM), a) == "faster"


def test_other_work_a_step_is_compared_by_the_sample() -> None:
    small = [msgspec.structs.replace(launch("A", 0.1), samples_per_step=32.0)]
    large = [msgspec.structs.replace(launch("B", 0.15), samples_per_step=64.0)]
    verdict = judge(small + large, KNOWN, CPUS, semantics="changes-training")
    assert (verdict.verdict, verdict.per) == ("faster", "sample")
    assert verdict.gain == pytest.approx(64 / 32 * 0.1 / 0.15 - 1)
    assert verdict.sentence.endswith(
        "2 launches, 200 steps; per sample, for steps hold different numbers of them"
    )
    assert verdict.payback_steps is None
    nearly = msgspec.structs.replace(large[0], samples_per_step=32.3)
    assert unit_of([*small, nearly], "changes-training") == "step"
    unknown = msgspec.structs.replace(large[0], samples_per_step=None)
    assert judge([*small, unknown], KNOWN, CPUS).verdict == "slower"


def test_memory_energy_and_payback_stand_beside_the_speed() -> None:
    a = launch("A", 0.2, gpu_memory_mib=4000.0, energy_j_per_step=50.0, compile_s=0.0)
    b = launch("B", 0.1, gpu_memory_mib=5200.0, energy_j_per_step=40.0, compile_s=30.0)
    verdict = judge([a, b], KNOWN, CPUS)
    assert verdict.memory_change_mib == 1200.0
    assert verdict.energy_change == pytest.approx(-0.2)
    assert verdict.payback_steps == 300
    assert verdict.notes == [
        "GPU memory: 4000 MiB at most before, 5200 MiB after (+1200 MiB)",
        "energy: 50 J a step before, 40 J after (-20%)",
        "the start takes 30 s longer, which 300 steps make up for",
    ]
    slower = judge([b, msgspec.structs.replace(a, label="B")], KNOWN, CPUS)
    assert slower.payback_steps is None
    plain = judge([launch("A", 0.2), launch("B", 0.1)], KNOWN, CPUS)
    assert (plain.memory_change_mib, plain.energy_change, plain.payback_steps) == (None, None, None)
    assert plain.notes == []


def test_a_longer_start_without_figures_of_compilations_counts_too() -> None:
    late = msgspec.structs.replace(launch("B", 0.1), startup_s=25.0)
    verdict = judge([launch("A", 0.2), late], KNOWN, CPUS)
    assert verdict.payback_steps == 200
