"""The step clock on loops as libraries and their users write them, with exact times (one unit = 1 ns)."""

from random import Random

import pytest

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_FAILED
from tests.probe.stamped_loops import StampedLoop
from tests.probe.written_loops import ADAM, SGD, Loop, assert_partition, phases

STARTED = 1_000


def test_a_fetch_that_raises_is_wait_and_ends_nothing() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fail_to_fetch(11).fetch().backward().optimize()
        loop.fetch().backward().optimize()
        loop.fail_to_fetch(3).fail_to_fetch(4).fetch().backward().optimize().end()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0] * 3 + [1] * 3
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0, 0] * 2
    assert [phases(step)[1] for step in steps] == [26, 10, 17, 27, 10, 17]
    assert [step.samples for step in steps] == [4] * 6
    assert loop.gaps == []


def test_a_run_whose_fetches_raise_goes_on_training() -> None:
    loop = StampedLoop()
    loop.iterate().step()
    loop.fail_to_fetch().fail_to_fetch()
    assert loop.wake().phase == "training"
    assert loop.step().sums() == {"starting": STARTED, "between": 15, "training": 2 * 67 - 10 + 20}


def grouped(loop: Loop, images: int, steps: int, wide_share: float) -> int:
    """Train on groups of `images` of one aspect; return how many were fetched, one at a time."""
    waiting, fetched = [0, 0], 0
    dice = Random(images)
    for _ in range(steps):
        while max(waiting) < images:
            loop.fetch(samples=1)
            fetched += 1
            waiting[dice.random() < wide_share] += 1
        waiting[waiting.index(images)] = 0
        loop.backward().optimize()
    return fetched


@pytest.mark.parametrize("images", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("wide_share", [0.5, 0.7, 0.95])
def test_images_grouped_by_aspect_give_up_none(images: int, wide_share: float) -> None:
    """As detectron2 feeds its trainers: single images from the loader until a group is full."""
    loop = Loop()
    loop.iterate()
    fetched = grouped(loop, images, 400, wide_share)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 400
    assert [step.step for step in steps if step.flags & FLAG_FAILED] == []
    assert sum(step.samples for step in steps) == pytest.approx(fetched, abs=2 * images)


@pytest.mark.parametrize("mean_batches", [1.1, 1.5, 3.0])
def test_rows_packed_from_texts_give_up_few(mean_batches: float) -> None:
    """What is left of a text begins the next row, so that a step may take no batch at all."""
    loop = Loop()
    loop.iterate()
    dice, owed = Random(5), 0.0
    for _ in range(400):
        owed += mean_batches * dice.random() * 2
        while owed >= 1:
            loop.fetch()
            owed -= 1
        loop.backward().optimize()
    failed = [step.step for step in loop.finish() if step.flags & FLAG_FAILED]
    assert len(failed) <= 4


def test_a_script_that_comes_to_take_two_batches_is_believed() -> None:
    loop = Loop()
    loop.iterate()
    for number in range(60):
        loop.fetch()
        if number >= 20:
            loop.fetch()
        loop.backward().optimize()
    failed = [step.step for step in loop.finish() if step.flags & FLAG_FAILED]
    assert failed == [20, 21, 22]


@pytest.mark.parametrize("groups", [1, 2, 8, 9, 70])
@pytest.mark.parametrize("fed", [True, False])
def test_an_optimizer_that_steps_once_for_each_parameter_group_is_one_step(groups: int, *, fed: bool) -> None:
    """As DeepSpeed's ZeRO does, which steps so before the training too, to have its states made."""
    loop = Loop()
    for _ in range(min(groups, 60)):
        loop.optimize()
    loop.idle(1000)
    for _ in range(6):
        if fed:
            loop.fetch()
        loop.backward()
        for _ in range(groups):
            loop.optimize().idle(2)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 6
    waited = 10 if fed else 0
    assert [phases(step)[1:] for step in steps[1:-1]] == [(waited, 20 + 2 * (not fed), 30, 7 * groups)] * 4
    assert [phases(step)[0] for step in steps[1:-1]] == [waited + 50 + 9 * groups] * 4
    assert [step.samples for step in steps] == [4 if fed else -1] * 6


def test_two_optimizers_in_groups_and_accumulation() -> None:
    loop = Loop()
    for _ in range(5):
        loop.backward().backward()
        for key in (ADAM, SGD):
            loop.optimize(key).optimize(key).optimize(key)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps[1:]] == [(142, 0, 40, 60, 42)] * 4


def test_one_optimizer_that_hooks_of_the_backward_step_again_and_again() -> None:
    loop = Loop()
    for _ in range(5):
        loop.idle(20)
        loop.clock.backward_begin(loop.now, 0)
        for _ in range(12):
            loop.idle(3).optimize()
        loop.idle(1)
        loop.clock.backward_end(loop.now)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps[1:]] == [(141, 0, 20, 37, 84)] * 4


def test_backwards_that_go_out_of_sight_leave_each_optimizers_step_a_step() -> None:
    """They are replayed from a CUDA graph, which the warm-up before it did not have."""
    loop = Loop()
    for _ in range(3):
        loop.backward().optimize()
    for _ in range(2000):
        loop.idle(50).optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 2003
    assert {phases(step) for step in steps[3:]} == {(57, 0, 0, 0, 7)}


def test_closures_without_a_loader_are_a_step_each() -> None:
    loop = Loop()
    for _ in range(20):
        loop.clock.optimizer_begin(loop.now, 0, ADAM)
        loop.backward()
        loop.idle(7)
        loop.clock.optimizer_end(loop.now, 0)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps[1:]] == [(57, 0, 20, 30, 7)] * 19


@pytest.mark.parametrize("steps", [1, 30, 200])
def test_gradients_without_backward_and_without_a_loader_are_steps(steps: int) -> None:
    loop = Loop()
    for _ in range(steps):
        loop.idle(50).optimize()
    assert len(loop.finish()) == steps
