"""When the hooks sleep, and what is made of the steps through which they slept."""

import random
import sys

import pytest

from perftui.ipc.messages import FLAG_ASLEEP, FLAG_COMPILING, FLAG_EPOCH_START, FLAG_FAILED
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.overhead import mean_with_error
from perftui.trainer.probe.shadow_log import NEIGHBOURS, PAIRS_KEPT, PAIRS_LEAST, ShadowLog, median_of
from perftui.trainer.probe.shadow_plan import ALIKE_STEPS, EVERY, ShadowPlan
from perftui.trainer.probe.sleeping import Slept, wanted_every

STEP_NS = 4_000_000
REST_NS = 5_000


def run_of(
    steps: int, *, cost_ns: int, noise_ns: int = 0, cpu: bool = True
) -> tuple[list[StepRecord], list[Slept]]:
    """Steps one after the other; every 16th slept through, and faster by the cost of the hooks."""
    source = random.Random(7)
    rows: list[StepRecord] = []
    slept: list[Slept] = []
    at_ns = 1_000
    for number in range(steps):
        asleep = number % 16 == 8
        took_ns = STEP_NS + round(source.lognormvariate(0, 1) * noise_ns)
        took_ns += REST_NS if asleep else cost_ns
        if asleep:
            slept.append(Slept(at_ns, REST_NS))
        flags = FLAG_ASLEEP if asleep else 0
        end_ns = at_ns + took_ns
        rows.append(
            StepRecord(number, end_ns, took_ns, 0, 0, 0, 0, took_ns - 1000 if cpu else -1, 4, 1, 0, flags)
        )
        at_ns = end_ns
    return rows, slept


def test_the_cost_is_what_awake_neighbours_take_more() -> None:
    cost = ShadowLog().note(*run_of(800, cost_ns=31_000))
    assert cost is not None
    assert cost.steps == 50
    assert (cost.wall.us, cost.wall.se_us) == (31.0, 0.0)
    assert cost.cpu == cost.wall


@pytest.mark.parametrize("cost_ns", [0, 30_000])
def test_skewed_noise_does_not_shift_it_by_more_than_its_error_says(cost_ns: int) -> None:
    cost = ShadowLog().note(*run_of(8000, cost_ns=cost_ns, noise_ns=100_000))
    assert cost is not None
    assert cost.steps == 500
    assert 1 < cost.wall.se_us < 20
    assert abs(cost.wall.us - cost_ns / 1e3) < 3 * cost.wall.se_us


def test_steps_may_come_in_any_pieces() -> None:
    rows, slept = run_of(800, cost_ns=12_000, noise_ns=50_000)
    whole = ShadowLog().note(rows, slept)
    log = ShadowLog()
    cost = None
    for begin in range(0, 800, 7):
        piece = rows[begin : begin + 7]
        cost = log.note(
            piece, [one for one in slept if any(row.end_ns - row.wall_ns == one.begin_ns for row in piece)]
        )
    assert cost == whole


def test_a_slept_step_is_known_before_it_is_finished() -> None:
    rows, slept = run_of(400, cost_ns=12_000)
    log = ShadowLog()
    log.note(rows[:8], slept)
    assert log.note(rows[8:], []) == ShadowLog().note(rows, slept)


def test_few_pairs_say_nothing_and_many_are_bounded() -> None:
    assert ShadowLog().note(*run_of(16 * (PAIRS_LEAST - 1), cost_ns=9_000)) is None
    assert ShadowLog().note([], []) is None
    cost = ShadowLog().note(*run_of(16 * (PAIRS_KEPT + 100), cost_ns=9_000))
    assert cost is not None
    assert cost.steps == PAIRS_KEPT


@pytest.mark.parametrize("every", [1, 2, 5, 16])
def test_steps_are_let_go_of_however_many_are_slept_through(every: int) -> None:
    log = ShadowLog()
    rows: list[StepRecord] = []
    for number in range(2000):
        begin_ns = 1_000 + number * STEP_NS
        asleep = number % every == 0
        flags = FLAG_ASLEEP if asleep else 0
        row = StepRecord(number, begin_ns + STEP_NS, STEP_NS, 0, 0, 0, 0, 0, 4, 1, 0, flags)
        rows.append(row)
        before = sys.getrefcount(row)
        log.note([row], [Slept(begin_ns, REST_NS)] if asleep else [])
        assert sys.getrefcount(row) > before, "the newest steps are held"
    references = [sys.getrefcount(each) for each in rows]
    held = sum(count > min(references) for count in references)
    assert NEIGHBOURS <= held <= 2 * NEIGHBOURS + 1


def test_slept_steps_without_usual_neighbours_do_not_count() -> None:
    rows, slept = run_of(400, cost_ns=12_000)
    failing = [row._replace(flags=row.flags | FLAG_FAILED) if row.step % 2 else row for row in rows]
    cost = ShadowLog().note(failing, slept)
    assert cost is not None, "half of the neighbours are enough"
    assert ShadowLog().note([row._replace(flags=FLAG_FAILED) for row in rows], slept) is None
    compiled = [row._replace(flags=row.flags | FLAG_COMPILING) if row.flags else row for row in rows]
    assert ShadowLog().note(compiled, slept) is None
    torn = [row for row in rows if row.step % 16 != 10]
    assert ShadowLog().note(torn, slept) is None


def test_without_cpu_time_there_is_a_cost_in_wall_time_alone() -> None:
    cost = ShadowLog().note(*run_of(400, cost_ns=12_000, cpu=False))
    assert cost is not None
    assert (cost.wall.us, cost.cpu) == (12.0, None)


def test_the_error_of_a_median_is_that_of_its_ranks() -> None:
    estimate = median_of([float(number) for number in range(101)])
    assert (estimate.us, estimate.se_us) == (50.0, 5.0)


def test_the_plan_waits_for_steps_that_are_alike() -> None:
    def row(step: int, flags: int = 0, micro_batches: int = 1) -> StepRecord:
        return StepRecord(step, step, 1, 0, 0, 0, 0, 0, 4, micro_batches, 0, flags)

    plan = ShadowPlan()
    plan.note([row(step) for step in range(ALIKE_STEPS - 1)])
    assert plan.every(0, 0) == 0
    plan.note([row(ALIKE_STEPS, FLAG_EPOCH_START), row(ALIKE_STEPS + 1, FLAG_ASLEEP)])
    assert plan.every(0, 0) == EVERY
    assert plan.every(0, 9) == 0, "whatever this loop is, its steps cannot be slept through"
    assert plan.every(5, 9) == EVERY
    plan.note([row(ALIKE_STEPS + 2, FLAG_FAILED)])
    assert plan.every(0, 0) == 0
    plan.note([row(step) for step in range(100, 200)])
    assert plan.every(0, 0) == EVERY
    plan.note([row(200, micro_batches=4)])
    assert plan.every(0, 0) == 0


def test_what_the_environment_asks_for() -> None:
    assert [wanted_every(text) for text in ("", "off", "7", "0", "yes")] == [None, 0, 7, None, None]


def test_ranks_are_averaged_and_their_errors_with_them() -> None:
    assert mean_with_error([(30.0, 3.0), (20.0, 4.0), (None, None)]) == (25.0, 2.5)
    assert mean_with_error([(None, None)]) == (None, None)
