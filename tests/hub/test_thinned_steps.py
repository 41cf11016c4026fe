"""Points of a long history: they know their steps, whatever was lost before, between or within them."""

import msgspec
import pytest

from perftui.ipc.messages import FLAG_ASLEEP, FLAG_EPOCH_START, FLAG_WAIT_UNKNOWN
from perftui.ipc.recording import Entry
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_lanes import with_lanes
from perftui.trainer.hub.step_log import StepLog
from perftui.trainer.hub.thinned_steps import Thinned
from tests.hub.made_messages import START_UNIX, folded, hello
from tests.hub.made_steps import row
from tests.tui import scenes

MS = 1_000_000


def thinned_of(*stretches: range, at_once: int = 7) -> Thinned:
    """Each step takes 1 ms more than its thousands: 0 to 999 take 1 ms, and so on."""
    made = Thinned()
    for steps in stretches:
        for begin in range(0, len(steps), at_once):
            made.extend([row(step, wall_ms=1.0 + step // 1000) for step in steps[begin : begin + at_once]])
    return made


def test_without_gaps_every_point_stands_for_as_many_steps() -> None:
    made = thinned_of(range(10_000))
    assert (made.stride, len(made)) == (16, 625)
    assert made.first_steps == list(range(0, 10_000, 16))
    assert made.stretches(before=10_000) == [(0, 625)]
    assert made.stretches(before=9_999) == [(0, 624)]
    assert made.stretches(before=0) == []


@pytest.mark.parametrize("at_once", [1, 7, 500])
def test_points_after_a_hole_stand_at_their_own_steps(at_once: int) -> None:
    made = thinned_of(range(5000), range(60_000, 68_000), at_once=at_once)
    by_step = dict(zip(made.first_steps, made.wall_ms, strict=True))
    assert made.first_steps == sorted(set(made.first_steps))
    assert all(step < 5000 or step + made.stride > 60_000 for step in by_step)
    assert by_step[992] == pytest.approx(1.0 + (made.stride - 8) / made.stride), "8 of its steps take 1 ms"
    assert by_step[64_000] == 65.0
    (first, second), stride = made.stretches(before=68_000), made.stride
    assert made.first_steps[second[0]] == 60_000 // stride * stride
    assert first == (0, second[0])


def test_whatever_is_lost_no_step_counts_twice_and_means_stay_true() -> None:
    made, kept = Thinned(), [step for step in range(50_000) if step % 37 > 2 and (step // 700) % 5]
    for step in kept:
        made.extend([row(step, wall_ms=step / 100)])
    assert len(made) < 1024
    assert made.first_steps == sorted(set(made.first_steps))
    for first, mean in zip(made.first_steps, made.wall_ms, strict=True):
        own = [step / 100 for step in kept if first <= step < first + made.stride]
        assert mean == pytest.approx(sum(own) / len(own))


def test_steps_that_go_back_are_bounded_as_well() -> None:
    made = Thinned()
    for turn in range(3000):
        made.extend([row(turn % 2 * (1 << 53)), row(5)])
    assert len(made) < 1024


def test_one_unknown_wait_does_not_hide_those_that_are_known() -> None:
    made, mixed = Thinned(), [row(n, wait_ms=2.0) for n in range(2048)]
    mixed[5] = row(5, wait_ms=900.0, flags=FLAG_WAIT_UNKNOWN | FLAG_EPOCH_START)
    mixed[8:10] = [row(n, wait_ms=900.0, flags=FLAG_WAIT_UNKNOWN) for n in (8, 9)]
    mixed[20] = row(20, wall_ms=26.0, flags=FLAG_ASLEEP)
    made.extend(mixed)
    assert made.stride == 4
    assert made.flags[:6] == [0, FLAG_EPOCH_START, 0, 0, 0, FLAG_ASLEEP]
    assert made.wait_ms[:3] == [2.0, 2.0, 2.0]
    assert (made.wall_ms[5], made.usual_walls_ms(20)[0]) == (14.0, 10.0), "shown, and kept out of statistics"
    blind = Thinned()
    blind.extend([row(n, flags=FLAG_WAIT_UNKNOWN) for n in range(2048)])
    assert set(blind.flags) == {FLAG_WAIT_UNKNOWN}


def holed() -> StepLog:
    log = StepLog()
    log.extend([row(n, 10.0)._replace(end_ns=(n + 1) * 10 * MS) for n in range(5000)])
    log.extend([row(n, 20.0)._replace(end_ns=(n + 1) * 20 * MS) for n in range(60_000, 68_000)])
    return log


def test_the_history_of_a_rank_shows_a_hole_where_it_is() -> None:
    found = step_history(holed(), 0, 0, None, 68)
    assert found is not None
    assert found.block_steps == 1000
    assert found.mean_ms[:5] == [10.0] * 5
    assert found.mean_ms[5:60] == [None] * 55
    assert found.mean_ms[60:] == [20.0] * 8


def test_a_dashboard_is_sent_each_stretch_with_its_own_steps() -> None:
    fold = folded(hello())
    fold.ranks[0].log = holed()
    increments = Increments()
    increments.advance(fold)
    for part in increments.history(fold, None):
        last = part.first_step + part.stride * len(part.wall_ms)
        assert last <= 5000 + part.stride or part.first_step + part.stride > 60_000
        assert set(part.wall_ms) == ({10.0} if part.first_step < 5000 else {20.0})


def test_readings_stand_at_the_times_of_the_steps_after_a_hole() -> None:
    fold = RunFold()
    fold.apply(Entry(unix=START_UNIX, message=hello()))
    fold.ranks[0].log = holed()
    for second in (*range(1, 51), *range(1200, 1361)):
        busy = 1.0 if second <= 50 else 2.0
        host = msgspec.structs.replace(scenes.HOST, name="h", run_busy=busy)
        fold.apply(Entry(unix=START_UNIX + second, hosts=[host]))
    history = step_history(fold.ranks[0].log, 0, 0, None, 68)
    assert history is not None
    lanes = {lane.name: lane for lane in with_lanes(history, fold.ranks[0], fold.readings).lanes}
    assert lanes["run_busy"].values == pytest.approx([1.0] * 5 + [None] * 55 + [2.0] * 8)
