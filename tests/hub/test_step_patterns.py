"""What single steps tell beyond their means, interruptions and arrivals: worked out by hand."""

import statistics

import pytest

from perftui.ipc.messages import (
    FLAG_ASLEEP,
    FLAG_COMPILING,
    FLAG_EPOCH_START,
    FLAG_FAILED,
    FLAG_PROFILED,
    FLAG_WAIT_UNKNOWN,
    EventKind,
    RankEvent,
)
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.arrivals import arrivals_of
from perftui.trainer.hub.pause_log import PauseLog
from perftui.trainer.hub.step_log import WARM_STEPS, StepLog
from perftui.trainer.hub.step_patterns import patterns_of

MS = 1_000_000


def row(
    step: int,
    *,
    wall_ms: float = 100.0,
    wait_ms: float = 0.0,
    backward_ms: float = 0.0,
    worker: int = -1,
    epoch: int = 0,
    flags: int = 0,
    micro: int = 1,
    comm_ns: int = -1,
) -> StepRecord:
    return StepRecord(
        step, (step + 1) * 100 * MS, int(wall_ms * MS), int(wait_ms * MS), 0, int(backward_ms * MS), 0, 0, 8,
        micro, epoch, flags, -1, comm_ns, worker,
    )  # fmt: skip


def log_of(rows: list[StepRecord]) -> StepLog:
    log = StepLog()
    log.extend(rows)
    return log


def test_waits_by_worker_leave_heads_of_epochs_out() -> None:
    rows = [row(n, worker=n % 3, wait_ms=50.0 if n % 3 == 1 else 1.0) for n in range(60)]
    rows[45] = row(45, worker=0, wait_ms=900.0, flags=FLAG_EPOCH_START)
    found = patterns_of(log_of(rows), None)
    assert found.worker_wait_ms == {0: 1.0, 1: 50.0, 2: 1.0}
    assert (found.worker_steps, found.epoch_starts, found.epoch_start_ms) == (60 - WARM_STEPS, 1, 900.0)


def test_waits_by_epoch_without_warm_up_and_heads() -> None:
    rows = [row(n, epoch=n // 20, wait_ms=40.0 if n < 20 else 5.0) for n in range(60)]
    first, second, third = patterns_of(log_of(rows), None).epochs
    assert (first.epoch, first.steps, first.wall_ms, first.wait_ms) == (0, 10, 1000.0, 400.0)
    assert (second.steps, second.wait_ms, third.wait_ms) == (20, 100.0, 100.0)


def test_the_first_epochs_of_a_long_run_are_kept_and_a_window_has_its_own() -> None:
    rows = [row(n, epoch=min(n // 50, 99), wait_ms=40.0 if n < 50 else 5.0) for n in range(6000)]
    log = log_of(rows)
    whole = patterns_of(log, None).epochs
    assert [each.epoch for each in whole] == list(range(16))
    assert (whole[0].steps, whole[0].wait_ms) == (40, 1600.0)
    assert patterns_of(log, 200).epochs == ()


def test_fifths_of_the_run() -> None:
    rows = [row(n, wall_ms=100.0 + max(0, n - WARM_STEPS) // 20) for n in range(WARM_STEPS + 100)]
    assert patterns_of(log_of(rows), 200).fifths_ms == (100.0, 101.0, 102.0, 103.0, 104.0)
    assert patterns_of(log_of(rows[:50]), 200).fifths_ms == ()
    busy = [each._replace(cpu_ns=each.wall_ns // 2) for each in rows]
    assert patterns_of(log_of(busy), 200).cpu_fifths_ms == (50.0, 50.5, 51.0, 51.5, 52.0)


def test_a_long_run_is_thinned_and_keeps_its_trend() -> None:
    rows = [row(n, wall_ms=10.0 if n < 2500 else 20.0) for n in range(5000)]
    fifths = patterns_of(log_of(rows), 200).fifths_ms
    assert (fifths[0], fifths[1], fifths[3], fifths[4]) == (10.0, 10.0, 20.0, 20.0)
    assert patterns_of(log_of(rows), 200).cpu_fifths_ms == ()


@pytest.mark.parametrize("flag", [FLAG_ASLEEP, FLAG_COMPILING, FLAG_FAILED, FLAG_PROFILED])
def test_a_long_run_keeps_its_trend_although_every_point_has_an_unusual_step(flag: int) -> None:
    log = StepLog()
    for step in range(34_000):  # points of 64 steps, two unusual ones in each
        usual = step % 32 != 7
        log.add(
            row(step, wall_ms=10.0 + 20.0 * step / 34_000 if usual else 900.0, flags=0 if usual else flag)
        )
    assert log.thinned.stride == 64
    assert patterns_of(log, 200).fifths_ms == pytest.approx((12.0, 16.0, 20.0, 24.0, 28.0), abs=0.05)


def test_points_of_unusual_steps_alone_have_no_part_in_fifths() -> None:
    rows = [
        row(n, wall_ms=10.0 if n % 4 == 0 else 900.0, flags=FLAG_FAILED if n % 4 else 0) for n in range(300)
    ]
    assert patterns_of(log_of(rows), 200).fifths_ms == (10.0,) * 5
    assert patterns_of(log_of([row(n, flags=FLAG_FAILED) for n in range(300)]), 200).fifths_ms == ()


def test_unusual_steps_are_counted_and_kept_out() -> None:
    rows = [row(n) for n in range(40)]
    rows[20] = row(20, wall_ms=500.0, flags=FLAG_COMPILING)
    rows[21] = row(21, flags=FLAG_FAILED)
    found = patterns_of(log_of(rows), None)
    assert (found.compiling, found.compiling_of, found.failed) == (1, 30, 1)
    assert found.compiling_share == pytest.approx(500 / (29 * 100 + 500))


def test_steps_without_a_loader_and_with_micro_batches() -> None:
    blind = patterns_of(log_of([row(n, flags=FLAG_WAIT_UNKNOWN, micro=4) for n in range(40)]), None)
    assert (blind.wait_known, blind.micro_batches, blind.samples) == (False, 4.0, 8.0)
    assert patterns_of(log_of([row(n, comm_ns=5) for n in range(40)]), 20).comm_steps == 20


def _event(kind: EventKind, at_ms: int, ms: int) -> RankEvent:
    return RankEvent(
        run_id="r", host="h", rank=0, seq=0, at_ns=at_ms * MS, event=kind, text="", duration_ns=ms * MS
    )


def test_interruptions_within_a_stretch_and_over_the_run() -> None:
    log = PauseLog()
    for event in (_event("checkpoint", 100, 50), _event("checkpoint", 900, 150), _event("note", 500, 400)):
        log.add(event)
    (recent,) = log.between(800 * MS, 1800 * MS)
    assert (recent.kind, recent.count, recent.total_ms, recent.share) == ("checkpoint", 1, 150.0, 0.15)
    (whole,) = log.whole(0, 2000 * MS)
    assert (whole.count, whole.total_ms, whole.longest_ms, whole.share) == (2, 200.0, 150.0, 0.1)
    assert log.between(2000 * MS, 3000 * MS) == ()


def test_who_comes_last() -> None:
    first = [row(n, backward_ms=60.0) for n in range(20, 30)]
    second = [row(n, backward_ms=30.0 if n % 5 else 70.0) for n in range(22, 32)]
    found = arrivals_of({0: first, 1: second})
    assert found is not None
    assert found.steps == 8
    late = {each.rank: (each.late_ms, each.last_share) for each in found.ranks}
    assert late[1] == pytest.approx((7 * 30 / 8, 7 / 8))
    assert late[0] == pytest.approx((10 / 8, 1 / 8))
    assert found.lost_ms == pytest.approx((7 * 15 + 5) / 8)


def test_who_takes_most_cpu_time() -> None:
    first = [row(n)._replace(cpu_ns=50 * MS) for n in range(10)]
    second = [row(n)._replace(cpu_ns=(80 if n < 3 else 40) * MS) for n in range(10)]
    found = arrivals_of({0: first, 1: second})
    assert found is not None
    assert found.lost_cpu_ms == pytest.approx((3 * 15 + 7 * 5) / 10)
    assert found.most_cpu_share == 0.7
    unknown = arrivals_of({0: [row(1)._replace(cpu_ns=-1)], 1: [row(1)]})
    assert unknown is not None
    assert unknown.lost_cpu_ms is None


def test_whose_wait_for_the_exchange_is_the_shortest() -> None:
    first = [row(n)._replace(comm_ns=(40 if n % 4 else 10) * MS if n < 8 else -1) for n in range(20)]
    second = [row(n)._replace(comm_ns=20 * MS if n < 9 else -1) for n in range(20)]
    found = arrivals_of({0: first, 1: second})
    assert found is not None
    assert (found.looked, found.exchange_ms) == (8, (6 * 20 + 2 * 10) / 8)
    assert [each.looks for each in found.ranks] == [8, 9]
    assert [each.least_share for each in found.ranks] == [0.25, 0.75]
    deviation = statistics.stdev([10.0, 40.0, 40.0, 40.0] * 2)
    assert [each.wait_error_ms for each in found.ranks] == pytest.approx([deviation / 8**0.5, 0.0])
    unseen = arrivals_of({0: [row(1)], 1: [row(1)]})
    assert unseen is not None
    assert (unseen.looked, unseen.exchange_ms, unseen.ranks[0].least_share) == (0, None, None)


def test_whether_a_lead_in_cpu_time_lasts() -> None:
    def memory(second_ms: list[int]) -> float | None:
        first = [row(n)._replace(cpu_ns=50 * MS) for n in range(len(second_ms))]
        second = [row(n)._replace(cpu_ns=ms * MS) for n, ms in enumerate(second_ms)]
        found = arrivals_of({0: first, 1: second})
        assert found is not None
        return found.cpu_memory

    slow_for_a_while = memory([50] * 20 + [90] * 20)
    assert slow_for_a_while is not None
    assert slow_for_a_while > 0.9
    in_turns = memory([50, 90] * 20)
    assert in_turns is not None
    assert in_turns < -0.9
    assert memory([50] * 40) is None, "nothing varies"
    assert memory([50, 90] * 9) is None, "too few steps"


def test_by_how_much_batches_differ() -> None:
    def uneven(**sizes: int) -> float | None:
        first = [row(n)._replace(**sizes) for n in range(4)]
        found = arrivals_of({0: first, 1: [row(n)._replace(tokens=300, samples=8) for n in range(4)]})
        assert found is not None
        return found.uneven

    assert uneven(tokens=100, samples=8) == 0.5
    assert uneven(tokens=-1, samples=24) == 0.5, "samples where tokens are not known of all"
    assert uneven(tokens=300, samples=24) == 0.0
    assert uneven(tokens=-1, samples=-1) is None


def test_ranks_without_a_step_in_common_are_not_compared() -> None:
    assert arrivals_of({0: [row(1)], 1: [row(2)]}) is None
    assert arrivals_of({0: [row(1)]}) is None
