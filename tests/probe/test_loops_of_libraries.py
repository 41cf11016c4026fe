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


def pass_over(loop: Loop, batches: int) -> Loop:
    """Read a loader and train nothing."""
    loop.trains = False
    loop.iterate()
    for _ in range(batches):
        loop.fetch().idle(4)
    return loop.end()


@pytest.mark.parametrize("batches", [10, 1000])
def test_a_pass_over_the_data_before_the_training_is_no_step(batches: int) -> None:
    loop = pass_over(Loop(), batches).idle(100)
    assert loop.steps == []
    loop.iterate()
    for _ in range(200):
        loop.fetch().backward().optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 200
    assert [phases(step) for step in steps[:2]] == [(72, 15, 20, 30, 7), (67, 10, 20, 30, 7)]
    assert {step.epoch for step in steps} == {0}
    assert [gap.batches for gap in loop.gaps] == [batches]


def test_a_pass_over_the_data_before_an_unseen_training_is_no_step() -> None:
    loop = pass_over(Loop(), 1000).idle(100)
    loop.iterate()
    for _ in range(200):
        loop.fetch()
        loop.trains = True  # the first step compiles
        loop.idle(40)
    steps = loop.end().finish()
    assert_partition(steps)
    assert len(steps) == 200
    assert [phases(step)[0] for step in steps[:2]] == [55, 50]
    assert {step.epoch for step in steps} == {0}
    assert steps[0].flags & FLAG_EPOCH_START


def test_a_process_that_only_reads_its_data_has_no_steps() -> None:
    assert pass_over(Loop(), 1000).finish() == []


def test_whole_steps_that_are_replayed_from_a_graph() -> None:
    """A warm-up without a loader, then a replay for each batch: what goes on is training."""
    loop = StampedLoop()
    for _ in range(3):
        loop.work()
    loop.iterate()
    for _ in range(8):
        loop.fetch().idle(20).replay()
        assert loop.wake().phase == "training"
    loop.wake(at_end=True)
    assert loop.reader.clock.steps == 3 + 8


def test_sharpness_aware_steps_have_two_backwards() -> None:
    loop = Loop()
    for _ in range(3):
        loop.iterate()
        for _ in range(7):
            loop.fetch().backward().idle(5).backward().optimize()
        loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert [(step.samples, step.micro_batches) for step in steps] == [(4, 1)] * 21
    assert {step.flags & ~FLAG_EPOCH_START for step in steps} == {0}
    assert [phases(step) for step in steps[1:6]] == [(122, 10, 45, 60, 7)] * 5


def test_minibatches_of_a_rollout_are_steps_with_a_loader_and_without() -> None:
    """PPO: the environment is stepped, then its rollout is gone through four times."""
    for fed in (True, False):
        loop = Loop()
        for _ in range(5):
            loop.idle(3000)
            for _ in range(4):
                if fed:
                    loop.iterate()
                for _ in range(8):
                    if fed:
                        loop.fetch()
                    loop.backward().optimize()
                if fed:
                    loop.end()
        steps = loop.finish()
        assert_partition(steps)
        assert len(steps) == 5 * 4 * 8
        assert {step.flags & FLAG_FAILED for step in steps} == {0}
        assert steps[-1].epoch == (19 if fed else 0)


@pytest.mark.parametrize("critic_steps", [1, 5, 7])
def test_a_critic_that_steps_several_times_on_one_batch(critic_steps: int) -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(12):
        loop.fetch()
        for _ in range(critic_steps):
            loop.backward().optimize(ADAM)
        loop.backward().optimize(SGD)
    steps = loop.end().finish()
    assert_partition(steps)
    assert [(step.samples, step.micro_batches) for step in steps] == [(4, 1)] * 12
    assert {step.flags & ~FLAG_EPOCH_START for step in steps} == {0}


@pytest.mark.parametrize("backwards", [1, 2])
def test_weights_that_the_backward_itself_updates_are_steps_by_batch(backwards: int) -> None:
    """LOMO: no optimizer steps; with a norm of the gradients there are two backwards a batch."""
    loop = Loop()
    loop.iterate()
    for _ in range(150):
        loop.fetch()
        for _ in range(backwards):
            loop.backward()
    steps = loop.end().finish()
    assert_partition(steps)
    assert [(step.samples, step.micro_batches) for step in steps] == [(4, 1)] * 150
    assert {step.flags & FLAG_FAILED for step in steps} == {0}
