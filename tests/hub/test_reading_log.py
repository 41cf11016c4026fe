"""Readings over time: bounded, thinned to means, found again by the time of the steps."""

import pytest

from perftui.trainer.hub.reading_log import POINTS_MAX, ReadingLog


def log_of(seconds: int) -> ReadingLog:
    """A figure that is its own second, and one that is read every other second."""
    log = ReadingLog(("second", "even"))
    for second in range(seconds):
        log.add(float(second), [float(second), None if second % 2 else float(second)])
    return log


def test_a_stretch_has_the_mean_of_what_was_read_in_it() -> None:
    found = log_of(20).over([(3.5, 7.2), (9.0, 11.0), None])
    assert found["second"] == [5.5, 10.5, None]
    assert found["even"] == [5.0, 10.0, None]


def test_a_stretch_between_two_readings_has_the_one_that_covers_it() -> None:
    assert log_of(20).over([(4.1, 4.3)])["second"] == [5.0]
    assert log_of(20).over([(40.0, 41.0)])["second"] == [None]
    late = ReadingLog(("x",), period_s=2.0)
    late.add(10.0, [7.0])
    assert late.over([(1.0, 2.0), (7.9, 8.1)])["x"] == [None, 7.0], "too long before it to be covered"


def test_a_figure_never_read_is_none_and_not_zero() -> None:
    log = ReadingLog(("never",))
    log.add(1.0, [None])
    assert log.over([(0.0, 2.0)]) == {"never": [None]}


@pytest.mark.parametrize("seconds", [POINTS_MAX - 1, POINTS_MAX, 5 * POINTS_MAX + 3])
def test_a_long_run_keeps_bounded_means_that_are_right(seconds: int) -> None:
    log = log_of(seconds)
    assert POINTS_MAX // 2 <= len(log) < POINTS_MAX
    whole = log.over([(-1.0, float(seconds))])["second"][0]
    covered = len(log) * log.stride
    assert whole == pytest.approx((covered - 1) / 2)
