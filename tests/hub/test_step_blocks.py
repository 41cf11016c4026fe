"""Blocks of steps against figures worked out by hand, on short runs and on runs longer than what is kept."""

import pytest

from perftui.ipc.messages import FLAG_WAIT_UNKNOWN
from perftui.ipc.step_history import BINS, BLOCKS_MAX
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_log import RAW_STEPS, StepLog
from tests.hub.made_steps import row


def log_of(walls_ms: list[float]) -> StepLog:
    log = StepLog()
    log.extend([row(step, wall_ms) for step, wall_ms in enumerate(walls_ms)])
    return log


def test_no_steps_have_no_history() -> None:
    assert step_history(StepLog(), 0, 0, None, 10) is None


def test_each_step_has_a_block_where_there_is_room() -> None:
    found = step_history(log_of([10.0, 20.0, 30.0]), 3, 0, None, 10)
    assert found is not None
    assert (found.rank, found.first_step, found.last_step, found.newest_step) == (3, 0, 2, 2)
    assert found.block_steps == 1
    assert found.p50_ms == found.p99_ms == found.mean_ms == found.slowest_ms == [10.0, 20.0, 30.0]
    assert found.wait_ms == [4.0, 4.0, 4.0]


def test_blocks_have_the_quantiles_of_their_own_steps() -> None:
    found = step_history(log_of([10.0, 20.0, 30.0, 40.0, 50.0, 70.0]), 0, 0, None, 2)
    assert found is not None
    assert found.block_steps == 3
    assert found.p50_ms == [20.0, 50.0]
    assert found.p99_ms == pytest.approx([29.8, 69.6])
    assert found.mean_ms == pytest.approx([20.0, 160 / 3])
    assert found.slowest_ms == [30.0, 70.0]
    assert found.stats is not None
    assert found.stats.mean == pytest.approx(110 / 3)
    assert found.stats_steps == 6


def test_blocks_stay_aligned_while_the_run_goes_on() -> None:
    log = log_of([float(step % 7 + 1) for step in range(95)])
    before = step_history(log, 0, 40, None, 12)
    log.add(row(95, 9.0))
    after = step_history(log, 0, 40, None, 12)
    assert before is not None
    assert after is not None
    assert before.block_steps == after.block_steps == 5
    assert before.p50_ms[:-1] == after.p50_ms[: len(before.p50_ms) - 1]


def test_a_stretch_ends_where_it_was_asked_to() -> None:
    found = step_history(log_of([float(step) for step in range(1, 101)]), 0, 20, 39, 20)
    assert found is not None
    assert (found.first_step, found.last_step, found.newest_step) == (20, 39, 99)
    assert found.mean_ms == [float(step) for step in range(21, 41)]
    assert found.stats_steps == 20


@pytest.mark.parametrize(
    ("first", "last", "expected"), [(-5, 3, (0, 3)), (500, 600, (9, 9)), (8, 2, (2, 2)), (0, None, (0, 9))]
)
def test_a_stretch_outside_of_the_run_is_moved_into_it(
    first: int, last: int | None, expected: tuple[int, int]
) -> None:
    found = step_history(log_of([1.0] * 10), 0, first, last, 400)
    assert found is not None
    assert (found.first_step, found.last_step) == expected


def test_more_blocks_than_the_limit_are_not_given() -> None:
    found = step_history(log_of([1.0] * 4000), 0, 0, None, 100_000)
    assert found is not None
    assert len(found.mean_ms) <= BLOCKS_MAX


def test_steps_no_longer_kept_are_told_by_their_means_and_say_so() -> None:
    steps = RAW_STEPS + 3000
    log = log_of([10.0] * 3000 + [20.0] * RAW_STEPS)
    found = step_history(log, 0, 0, None, 50)
    assert found is not None
    assert found.exact_from == steps - RAW_STEPS
    assert len(found.mean_ms) <= 50
    first_exact = found.exact_from // found.block_steps
    assert found.p50_ms[0] is None
    assert found.p99_ms[0] is None
    assert found.mean_ms[0] == pytest.approx(10.0)
    assert found.slowest_ms[0] == pytest.approx(10.0)
    assert found.p50_ms[first_exact + 1] == 20.0
    assert found.mean_ms[-1] == pytest.approx(20.0)
    assert found.stats_steps == RAW_STEPS
    assert None not in found.mean_ms


def test_lost_steps_leave_a_gap() -> None:
    log = StepLog()
    log.extend([row(step) for step in (0, 1, 6, 7)])
    found = step_history(log, 0, 2, None, 6)
    assert found is not None
    assert found.mean_ms[:4] == [None] * 4
    assert found.mean_ms[4:] == [10.0, 10.0]


def test_an_unknown_wait_is_not_taken_for_none() -> None:
    log = StepLog()
    log.extend([row(0, 10.0, 0.0, FLAG_WAIT_UNKNOWN), row(1, 10.0, 6.0)])
    found = step_history(log, 0, 0, None, 2)
    assert found is not None
    assert found.wait_ms == [None, 6.0]


def test_the_distribution_counts_every_step_once() -> None:
    walls = [10.0 + step % 10 for step in range(1000)] + [900.0]
    found = step_history(log_of(walls), 0, 0, None, 100)
    assert found is not None
    assert len(found.bins) == BINS
    assert sum(found.bins) + found.above == 1001
    assert found.above == 1
    assert found.bins[0] == 100
    assert found.bins_from_ms == 10.0
    assert found.bins_to_ms < 30


def test_equal_steps_have_a_distribution_too() -> None:
    found = step_history(log_of([5.0] * 20), 0, 0, None, 100)
    assert found is not None
    assert sum(found.bins) == 20
    assert found.above == 0
