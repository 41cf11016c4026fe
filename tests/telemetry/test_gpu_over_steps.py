"""Readings joined to steps, with exact values: pure arithmetic, no clock."""

import random

import pytest

from perftui.trainer.telemetry.cumulative_series import CounterIntake, CumulativeSeries
from perftui.trainer.telemetry.gpu_over_steps import OverSteps, StepWindow, over_steps
from perftui.trainer.telemetry.gpu_pace import Pace
from perftui.trainer.telemetry.gpu_readings import Counters, FastReading, Means, SlowReading
from perftui.trainer.telemetry.gpu_series import GpuSeries


def energy_at(at_s: float, joules: float) -> SlowReading:
    return SlowReading(uuid="g", at_s=at_s, energy_j=joules, energy_at_s=at_s)


def sm_between(from_s: float, to_s: float, share: float) -> FastReading:
    return FastReading(
        uuid="g", at_s=to_s, means=Means(from_s=from_s, to_s=to_s, values={"sm_active_share": share})
    )


def throttled_at(at_s: float, power_cap_s: float) -> FastReading:
    counters = Counters(at_s=at_s, throttled_ns={"power_cap": round(power_cap_s * 1e9)})
    return FastReading(uuid="g", at_s=at_s, counters=counters)


def joined(
    series: GpuSeries, *spans: tuple[float, float], steps: int = 10, rate: float | None = 20.0
) -> OverSteps:
    return over_steps(series, lambda _: StepWindow(steps, spans, rate))


def with_energy(*points: tuple[float, float]) -> GpuSeries:
    series = GpuSeries()
    for at_s, joules in points:
        series.take_slow(energy_at(at_s, joules))
    return series


def test_energy_of_steps_between_readings() -> None:
    series = with_energy((0, 1000), (1, 1300), (2, 1600), (3, 1900), (4, 2200), (5, 2500))
    work = joined(series, (1.0, 4.0), steps=10, rate=20.0)
    assert work.values == pytest.approx({"energy_j_per_step": 90.0, "energy_j_per_sample": 15.0})
    assert (work.window_steps, work.window_s) == (10, 3.0)


def test_energy_at_the_borders_is_interpolated() -> None:
    # 100 W, then 300 W, then 500 W: the first span begins in the middle of the first interval
    series = with_energy((0, 0), (2, 200), (4, 800), (6, 1800))
    work = joined(series, (1.0, 4.5), steps=5, rate=None)
    assert work.values["energy_j_per_step"] == pytest.approx((100 + 600 + 250) / 5)
    assert work.missing["energy_j_per_sample"] == "the batch does not tell its size"


def test_spans_leave_out_what_lies_between_them() -> None:
    series = with_energy((0, 0), (1, 100), (2, 1100), (3, 1200), (4, 1300))  # a burst in the second second
    work = joined(series, (0.0, 1.0), (2.0, 4.0), steps=3, rate=1.0)
    assert work.values["energy_j_per_step"] == pytest.approx(100)


def test_energy_needs_two_seconds_of_steps() -> None:
    series = with_energy((0, 0), (1, 100), (2, 200), (3, 300))
    work = joined(series, (1.0, 2.5))
    assert work.missing["energy_j_per_step"] == "needs 2 s of steps"
    assert "energy_j_per_step" not in work.values


def test_steps_that_were_hardly_seen_have_no_figure() -> None:
    series = with_energy((0, 0), (1, 100), (101, 200), (102, 300))  # a gap of a hundred seconds
    work = joined(series, (0.0, 10.0))
    assert work.missing["energy_j_per_step"] == "read over only 10% of the time of these steps"


def test_shares_of_time_from_counters_of_nanoseconds() -> None:
    series = GpuSeries()
    for at_s, held_s in ((0.0, 5.0), (1.0, 5.0), (2.0, 5.5), (3.0, 6.5), (4.0, 6.5)):
        series.take_fast(throttled_at(at_s, held_s))
    assert joined(series, (0.0, 4.0)).throttled_share == pytest.approx({"power_cap": 1.5 / 4})
    assert joined(series, (1.5, 2.5)).throttled_share == pytest.approx({"power_cap": 0.25 + 0.5})
    assert joined(series, (3.0, 4.0)).throttled_share == pytest.approx({"power_cap": 0.0})


def test_a_counter_of_time_that_is_a_little_ahead_is_at_most_all_of_the_time() -> None:
    series = GpuSeries()
    for at_s, held_s in ((0.0, 0.0), (1.0, 1.3), (2.0, 2.3), (3.0, 3.3)):  # the second was noted too early
        series.take_fast(throttled_at(at_s, held_s))
    assert joined(series, (0.0, 3.0)).throttled_share == {"power_cap": 1.0}


def test_a_counter_of_time_that_runs_fast_is_not_believed() -> None:
    series = GpuSeries()
    for at_s in range(4):
        series.take_fast(throttled_at(at_s, 1.4 * at_s))
    work = joined(series, (0.0, 3.0))
    assert work.throttled_share == {}
    assert work.missing["throttled_share.power_cap"] == "the counter runs faster than time"


def test_means_are_weighted_by_the_time_that_they_cover() -> None:
    series = GpuSeries()
    series.take_fast(sm_between(0.0, 1.0, 0.2))
    series.take_fast(sm_between(1.0, 1.5, 0.8))
    series.take_fast(sm_between(1.5, 3.5, 0.5))
    share = joined(series, (0.5, 2.5)).values["sm_active_share"]
    assert share == pytest.approx((0.5 * 0.2 + 0.5 * 0.8 + 1.0 * 0.5) / 2.0)


def test_without_steps_the_newest_ten_seconds_are_shown() -> None:
    series = with_energy(*((float(at_s), 100.0 * at_s) for at_s in range(30)))
    for at_s in range(30):
        series.take_fast(sm_between(at_s, at_s + 1.0, 0.0 if at_s < 25 else 1.0))

    def no_steps(_until_s: float) -> StepWindow | None:
        return None

    for until in (None, no_steps):
        work = over_steps(series, until)
        assert work.values == {"sm_active_share": pytest.approx(0.5)}
        assert (work.window_steps, work.window_s) == (0, 10.0)
        assert work.missing["energy_j_per_step"] == "no step to set it against"


def test_a_window_ends_where_its_series_ends() -> None:
    """Energy is read less often: its steps are those that had ended by its newest reading."""
    asked: list[float] = []

    def until(moment_s: float) -> StepWindow:
        asked.append(moment_s)
        return StepWindow(4, ((moment_s - 4.0, moment_s),), None)

    series = with_energy((0, 0), (5, 500), (6, 700))
    series.take_fast(sm_between(0.0, 6.5, 0.5))
    series.take_fast(throttled_at(0.0, 0.0))
    series.take_fast(throttled_at(6.51, 0.0))
    work = over_steps(series, until)
    assert sorted(asked) == [6, 6.5]  # readings made together share a window
    assert work.values["energy_j_per_step"] == pytest.approx((300 + 200) / 4)


@pytest.mark.parametrize("points", [[(0, 100), (1, 50), (2, 150)], [(0, 100), (1, 5e9), (2, 5e9 - 1)]])
def test_a_counter_that_falls_or_leaps_adds_nothing(points: list[tuple[float, float]]) -> None:
    series = with_energy(*points)
    assert "energy_j_per_step" in series.refused()
    assert len(series.energy_j) in (0, 2)
    sum_seen = series.energy_j.between(0.0, 2.0)
    assert sum_seen in ((0.0, 0.0), (100.0, 1.0))


def test_a_counter_that_began_anew_costs_one_interval() -> None:
    series = with_energy((0, 900), (1, 1000), (2, 0), (3, 100), (4, 200))  # the driver was loaded again
    assert series.energy_j.between(0.0, 4.0) == (300.0, 3.0)


def test_overlapping_means_count_once() -> None:
    series = CumulativeSeries()
    series.add(0.0, 1.0, 1.0)
    series.add(0.5, 1.5, 2.0)
    series.add(0.2, 0.9, 9.0)
    assert series.between(0.0, 2.0) == (2.0, 1.5)


def test_thinning_keeps_every_sum() -> None:
    source = random.Random(1)
    long, short = CumulativeSeries(10**6), CumulativeSeries(64)
    at_s = total = 0.0
    for _ in range(5000):
        step_s, amount = source.uniform(0.1, 0.4), source.uniform(0, 3)
        for series in (long, short):
            series.add(at_s, at_s + step_s, amount)
        at_s, total = at_s + step_s, total + amount
    assert len(short) <= 64 < len(long)
    assert short.between(0.0, at_s) == pytest.approx((total, at_s))
    # the newer half is kept as it came
    assert short.between(at_s - 5, at_s - 1) == pytest.approx(long.between(at_s - 5, at_s - 1))
    old, exact = short.between(0.0, at_s / 2), long.between(0.0, at_s / 2)
    assert old == pytest.approx(exact, rel=0.05)


def test_readings_far_apart_make_a_gap() -> None:
    series = CumulativeSeries()
    intake = CounterIntake(series, 1.0, 1e6, longest_s=10.0)
    for at_s, raw in ((0.0, 0.0), (5.0, 50.0), (25.0, 250.0), (30.0, 300.0)):
        intake.take(at_s, raw)
    assert series.between(0.0, 30.0) == (100.0, 10.0)
    assert series.between(5.0, 25.0) == (0.0, 0.0)
    assert series.last_s == 30.0


def test_readings_that_take_long_are_made_less_often() -> None:
    pace = Pace(0.25)
    for _ in range(7):
        pace.note(0.02)
    assert pace.period_s == 0.25
    pace.note(0.02)
    assert pace.period_s == 0.5
    for _ in range(8):
        pace.note(0.02)
    assert pace.period_s == 1.0
    for _ in range(50):
        pace.note(0.02)
    assert pace.period_s == 1.0  # a fiftieth of the period is let be
    for _ in range(40):
        pace.note(0.004)
    assert pace.period_s == 0.5
    for _ in range(100):
        pace.note(0.0001)
    assert pace.period_s == 0.25  # never more often than was asked for


def test_a_driver_that_gets_slower_and_slower_is_not_given_up() -> None:
    pace = Pace(0.25)
    for _ in range(1000):
        pace.note(10.0)
    assert pace.period_s == 4.0
