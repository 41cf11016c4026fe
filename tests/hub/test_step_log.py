"""Window statistics against figures worked out by hand."""

import random

import pytest

from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_PHASES_UNKNOWN,
    FLAG_PROFILED,
    FLAG_WAIT_UNKNOWN,
)
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.step_log import RAW_STEPS, StepLog, figures_of, quantile, stats_of

MS = 1_000_000


def row(
    index: int, wall_ms: float = 10.0, wait_ms: float = 4.0, flags: int = 0, samples: int = 8
) -> StepRecord:
    return StepRecord(
        step=index,
        end_ns=index * 10 * MS,
        wall_ns=int(wall_ms * MS),
        wait_ns=int(wait_ms * MS),
        forward_ns=2 * MS,
        backward_ns=3 * MS,
        optimizer_ns=1 * MS // 2,
        cpu_ns=int(wall_ms * MS * 0.8),
        samples=samples,
        micro_batches=1,
        epoch=0,
        flags=flags,
    )


def test_quantile_interpolates() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([5.0], 0.99) == 5.0
    assert quantile([0.0, 10.0], 0.9) == pytest.approx(9.0)


def test_no_steps_have_no_statistics() -> None:
    assert stats_of([]) is None
    assert figures_of([]) is None
    assert StepLog().window(100) is None
    assert StepLog().whole() is None


def test_shares_partition_the_wall() -> None:
    figures = figures_of([row(i) for i in range(50)])
    assert figures is not None
    shares = figures.shares
    assert shares.loader_wait == pytest.approx(0.4)
    assert shares.forward == pytest.approx(0.2)
    assert shares.backward == pytest.approx(0.3)
    assert shares.optimizer == pytest.approx(0.05)
    assert shares.other == pytest.approx(0.05)
    assert figures.steps_per_s == pytest.approx(100.0)
    assert figures.samples_per_s == pytest.approx(800.0)
    assert figures.cpu_share == pytest.approx(0.8)


def test_wait_that_was_never_measured_is_none_not_zero() -> None:
    figures = figures_of([row(i, flags=FLAG_WAIT_UNKNOWN) for i in range(20)])
    assert figures is not None
    assert figures.shares.loader_wait is None
    assert figures.coverage == 0.0


def test_phases_that_were_never_measured_are_none() -> None:
    figures = figures_of([row(i, flags=FLAG_PHASES_UNKNOWN) for i in range(20)])
    assert figures is not None
    assert figures.shares.forward is None
    assert figures.shares.backward is None
    assert figures.shares.other == pytest.approx(1 - 0.4 - 0.05)


def test_without_a_fetch_nobody_knows_where_the_forward_began() -> None:
    figures = figures_of([row(i, wait_ms=0.0, flags=FLAG_WAIT_UNKNOWN) for i in range(20)])
    assert figures is not None
    assert figures.shares.forward is None
    assert figures.shares.backward == pytest.approx(0.3)
    assert figures.shares.other == pytest.approx(1 - 0.3 - 0.05)


def test_an_optimizer_that_was_never_seen_is_none() -> None:
    figures = figures_of([row(i)._replace(optimizer_ns=0) for i in range(20)])
    assert figures is not None
    assert figures.shares.optimizer is None
    assert figures.shares.other == pytest.approx(1 - 0.4 - 0.2 - 0.3)


def test_samples_unknown_gives_no_rate() -> None:
    figures = figures_of([row(i, samples=-1) for i in range(20)])
    assert figures is not None
    assert figures.samples_per_s is None


def test_warm_up_and_profiled_steps_do_not_count() -> None:
    log = StepLog()
    for index in range(10):
        log.add(row(index, wall_ms=1000.0))
    for index in range(10, 60):
        log.add(row(index))
    log.add(row(60, wall_ms=500.0, flags=FLAG_PROFILED))
    window = log.window(200)
    whole = log.whole()
    assert window is not None
    assert whole is not None
    assert window.steps == whole.steps == 50
    assert window.step_ms.mean == pytest.approx(10.0)
    assert whole.step_ms.p99 == pytest.approx(10.0)
    assert len(log) == 61


def test_a_very_short_run_is_judged_on_its_last_two_thirds() -> None:
    log = StepLog()
    for index, wall_ms in enumerate([100.0, 100.0, 10.0, 10.0, 10.0, 10.0]):
        log.add(row(index, wall_ms=wall_ms))
    whole = log.whole()
    assert whole is not None
    assert whole.steps == 4
    assert whole.step_ms.mean == pytest.approx(10.0)


def test_memory_is_bounded_and_the_whole_run_still_counts() -> None:
    log = StepLog()
    for index in range(20_000):
        log.add(row(index, wall_ms=10.0 if index % 2 else 20.0))
    whole = log.whole()
    assert whole is not None
    assert len(log.raw) == RAW_STEPS
    assert whole.steps == 20_000 - 10
    assert whole.step_ms.mean == pytest.approx(15.0)
    assert whole.step_ms.p90 == 20.0
    assert len(log.thinned.wall_ms) <= 1024
    assert log.thinned.stride * len(log.thinned.wall_ms) == pytest.approx(20_000, abs=log.thinned.stride)
    assert all(value == pytest.approx(15.0) for value in log.thinned.wall_ms)


def test_a_stall_every_eighth_step_shows_in_the_quantiles_of_a_long_run() -> None:
    log = StepLog()
    for index in range(100_000):
        log.add(row(index, wall_ms=80.0 if index % 8 == 0 else 10.0))
    whole = log.whole()
    assert whole is not None
    assert whole.step_ms.mean == pytest.approx(10 + 70 / 8, rel=1e-3)
    assert whole.step_ms.p50 == 10.0
    assert whole.step_ms.p90 == 80.0


def test_steps_since_an_index_even_with_gaps() -> None:
    log = StepLog()
    for index in [0, 1, 2, 7, 8, 9]:
        log.add(row(index))
    assert [r.step for r in log.since(2)] == [2, 7, 8, 9]
    assert [r.step for r in log.since(5)] == [7, 8, 9]
    assert log.since(10) == []


def test_steps_in_batches_give_the_same_as_one_by_one() -> None:
    source = random.Random(5)
    one, batches = StepLog(), StepLog()
    rows: list[StepRecord] = []
    for number in range(30_000):
        flags = source.choice((FLAG_EPOCH_START, FLAG_PROFILED, FLAG_WAIT_UNKNOWN))
        rows.append(
            row(
                number,
                wall_ms=source.uniform(5, 50),
                wait_ms=source.uniform(1, 4),
                flags=flags if number % 997 == 5 else 0,
                samples=source.choice((-1, 8)),
            )
        )
    for each in rows:
        one.add(each)
    while rows:
        count = source.randrange(1, 700)
        batches.extend(rows[:count])
        del rows[:count]
    assert batches.whole() == one.whole()
    assert batches.window(200) == one.window(200)
    assert (batches.thinned.wall_ms, batches.thinned.flags) == (one.thinned.wall_ms, one.thinned.flags)
    assert (batches.warm_end_ns, batches.mean_wall_ns, len(batches)) == (
        one.warm_end_ns,
        one.mean_wall_ns,
        len(one),
    )


def test_tokens_a_second_are_those_of_the_steps_that_have_any() -> None:
    plain, log = StepLog(), StepLog()
    rows = [row(step) for step in range(40)]
    plain.extend(rows)
    log.extend([each._replace(tokens=500) for each in rows])
    seconds = rows[20].wall_ns / 1e9
    for figures in (log.window(10), log.whole()):
        assert figures is not None
        assert figures.tokens_per_s == pytest.approx(500 / seconds)
    whole = plain.whole()
    assert whole is not None
    assert whole.tokens_per_s is None
