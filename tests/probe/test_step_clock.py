"""The step clock on the loops that people write, with exact times (one unit = 1 ns)."""

from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_EXPLICIT_BOUNDARY,
    FLAG_FAILED,
    FLAG_LOADER_BOUNDARY,
    FLAG_PHASES_UNKNOWN,
    FLAG_WAIT_UNKNOWN,
)
from perftui.trainer.probe.blind_loop import HELD_FETCHES
from perftui.trainer.probe.step_clock import HELD_MICRO_BATCHES, HELD_REPEATS

from .written_loops import ADAM, OTHER, SGD, TRAIN, Loop, assert_partition, phases


def test_plain_loop_of_two_epochs() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate()
        for _ in range(3):
            loop.fetch().backward().optimize().idle(3)
        loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 6
    assert phases(steps[0]) == (75, 15, 20, 30, 7)  # 5 for the iterator, 3 for logging
    assert phases(steps[1]) == (70, 10, 20, 30, 7)
    assert phases(steps[3]) == (76, 16, 20, 30, 7)  # the fetch that found the end is wait as well
    assert [step.epoch for step in steps] == [0, 0, 0, 1, 1, 1]
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0, 0, FLAG_EPOCH_START, 0, 0]
    assert [step.samples for step in steps] == [4] * 6
    assert [step.cpu_ns for step in steps[1:3]] == [35, 35]
    assert loop.gaps == []


def test_last_step_is_closed_at_its_optimizer() -> None:
    loop = Loop()
    loop.iterate().fetch().backward().optimize().idle(50)
    steps = loop.finish()
    assert [phases(step) for step in steps] == [(72, 15, 20, 30, 7)]


def test_break_after_a_fetch_is_no_step_and_no_validation() -> None:
    loop = Loop()
    loop.iterate().fetch().backward().optimize().fetch()
    assert len(loop.finish()) == 1
    assert loop.gaps == []


def test_gan_counts_once() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        loop.fetch().backward().optimize(ADAM).backward(5, 6).optimize(SGD, 8)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps[1:]] == [(86, 10, 25, 36, 15)] * 2
    assert [step.micro_batches for step in steps] == [1, 1, 1]


def test_gan_whose_discriminator_steps_twice() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        loop.fetch().backward().optimize(ADAM).backward().optimize(ADAM).backward().optimize(SGD)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps[:-2]) == 2  # the process ends inside the last batch: both of its updates are counted
    assert phases(steps[1]) == (181, 10, 60, 90, 21)


def test_gan_without_loader() -> None:
    loop = Loop()
    for _ in range(3):
        loop.backward().optimize(ADAM).backward().optimize(SGD)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 3
    assert phases(steps[1]) == (114, 0, 40, 60, 14)
    assert all(step.flags & FLAG_WAIT_UNKNOWN for step in steps)


def test_accumulation_is_micro_batches() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        for _ in range(4):
            loop.fetch().backward()
        loop.optimize()
    loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.micro_batches for step in steps] == [4, 4, 4]
    assert [step.samples for step in steps] == [16, 16, 16]
    assert phases(steps[1]) == (247, 40, 80, 120, 7)
    assert all(step.flags & ~FLAG_EPOCH_START == 0 for step in steps)


def test_two_loaders_in_one_step() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().iterate(5, OTHER)
        for _ in range(3):
            loop.fetch().fetch(11, OTHER).backward().optimize()
        loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 6
    assert phases(steps[1]) == (78, 21, 20, 30, 7)
    assert [step.epoch for step in steps] == [0, 0, 0, 1, 1, 1]
    assert [step.samples for step in steps] == [4] * 6
    assert loop.gaps == []


def test_nested_fetch_counts_once() -> None:
    loop = Loop()
    loop.clock.fetch_begin(1000, 0, TRAIN)
    loop.clock.fetch_begin(1002, 0, OTHER)
    loop.clock.fetch_end(1008, 2)
    loop.clock.fetch_end(1010, 4)
    loop.now = 1010
    loop.backward().optimize()
    steps = loop.finish()
    assert phases(steps[0]) == (67, 10, 20, 30, 7)
    assert steps[0].samples == 4


def test_loop_without_loader() -> None:
    loop = Loop()
    for _ in range(4):
        loop.backward().optimize().idle(3)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 4
    assert phases(steps[1]) == (60, 0, 23, 30, 7)
    assert {step.flags for step in steps} == {FLAG_WAIT_UNKNOWN}


def test_one_batch_trained_on_again_and_again() -> None:
    count = 3 * HELD_REPEATS
    loop = Loop()
    loop.iterate().fetch()
    for _ in range(count):
        loop.backward().optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == count
    assert phases(steps[0]) == (72, 15, 20, 30, 7)
    assert {phases(step) for step in steps[1:]} == {(57, 0, 20, 30, 7)}
    assert {step.flags for step in steps[1:]} == {FLAG_WAIT_UNKNOWN}


def test_no_optimizer_is_bounded_by_the_loader() -> None:
    count = HELD_MICRO_BATCHES + 20
    loop = Loop()
    loop.iterate()
    for _ in range(count):
        loop.fetch().backward()
    loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == count
    assert phases(steps[9]) == (60, 10, 20, 30, 0)
    assert {step.flags for step in steps[1:]} == {FLAG_LOADER_BOUNDARY}


def test_few_steps_without_optimizer_are_counted_at_the_end() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        loop.fetch().backward()
    assert [phases(step)[0] for step in loop.finish()] == [65, 60, 60]


def test_whole_step_compiled_is_bounded_by_each_fetch() -> None:
    count = HELD_FETCHES + 40
    loop = Loop()
    loop.iterate()
    for _ in range(count):
        loop.fetch().idle(40)
    loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == count
    assert phases(steps[5]) == (50, 10, 0, 0, 0)
    assert {step.flags for step in steps[1:]} == {FLAG_LOADER_BOUNDARY | FLAG_PHASES_UNKNOWN}


def test_few_fetches_and_then_training() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(20):
        loop.fetch()
    loop.end()
    loop.iterate().fetch().backward().optimize()
    steps = loop.finish()
    assert [phases(step) for step in steps] == [(72, 15, 20, 30, 7)]
    assert [gap.batches for gap in loop.gaps] == [20]


def test_a_closures_forward_and_backward_are_not_the_optimizers() -> None:
    """Between its runs nobody sees whose the time is: it counts to the forward."""
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        loop.fetch().idle(2)
        loop.clock.optimizer_begin(loop.now, loop.now // 2, ADAM)
        loop.backward(5, 6).backward(5, 6).backward(5, 6).idle(4)
        loop.clock.optimizer_end(loop.now, loop.now // 2)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps[1:]] == [(49, 10, 17, 18, 4)] * 2
    assert not any(step.flags & (FLAG_FAILED | FLAG_PHASES_UNKNOWN) for step in steps)


def test_skipped_step_counts_and_is_marked() -> None:
    loop = Loop()
    loop.iterate()
    for number in range(4):
        loop.fetch().backward().optimize(skipped=number == 1)
    steps = loop.finish()
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, FLAG_FAILED, 0, 0]


def test_wrapped_optimizer_counts_once() -> None:
    loop = Loop()
    for _ in range(3):
        loop.fetch().backward()
        loop.clock.optimizer_begin(loop.now, 0, -ADAM)
        loop.idle(1).optimize(ADAM, 7).idle(1)
        loop.clock.optimizer_end(loop.now, 0)
    steps = loop.finish()
    assert [phases(step) for step in steps] == [(69, 10, 20, 30, 9)] * 3


def test_optimizer_that_raises_is_a_failed_step() -> None:
    loop = Loop()
    loop.fetch().backward().optimize()
    loop.fetch().backward()
    loop.clock.optimizer_begin(loop.now, 0, ADAM)
    loop.idle(4)
    loop.fetch().backward().optimize()
    steps = loop.finish()
    assert [step.flags & FLAG_FAILED for step in steps] == [0, FLAG_FAILED, 0]
    assert [step.wall_ns for step in steps] == [67, 64, 67]


def test_backward_that_raises_is_a_failed_step() -> None:
    loop = Loop()
    loop.fetch().backward().optimize()
    loop.fetch().backward(failed=True)
    loop.fetch().backward().optimize()
    steps = loop.finish()
    assert [step.flags & FLAG_FAILED for step in steps] == [0, FLAG_FAILED, 0]


def test_batch_that_was_given_up_marks_the_step_it_is_merged_into() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(9):
        loop.fetch().backward().optimize()
    loop.fetch().idle(500)
    loop.fetch().backward().optimize().fetch().backward().optimize()
    steps = loop.finish()
    assert [step.flags & FLAG_FAILED for step in steps] == [0] * 9 + [FLAG_FAILED, 0]


def test_inner_backward_belongs_to_the_outer() -> None:
    loop = Loop()
    loop.fetch()
    loop.clock.backward_begin(loop.now, 0)
    loop.backward(3, 4)
    loop.idle(2)
    loop.clock.backward_end(loop.now)
    loop.optimize()
    assert [phases(step) for step in loop.finish()] == [(26, 10, 0, 9, 7)]


def test_explicit_steps_override() -> None:
    loop = Loop()
    loop.clock.expect_steps(loop.now, loop.now // 2)
    for _ in range(3):
        for _ in range(2):
            loop.fetch().backward().optimize().idle(3)
        loop.clock.step(loop.now, loop.now // 2, 99)
    steps = loop.finish()
    assert_partition(steps)
    assert [step.samples for step in steps] == [99, 99, 99]
    assert [phases(step) for step in steps] == [(140, 20, 40, 60, 14)] * 3
    assert all(step.flags & FLAG_EXPLICIT_BOUNDARY for step in steps)


def test_explicit_steps_of_a_loop_without_loader() -> None:
    loop = Loop()
    loop.clock.expect_steps(loop.now, loop.now // 2)
    for _ in range(3):
        loop.backward().optimize().backward().optimize().idle(3)
        loop.clock.step(loop.now, loop.now // 2)
    assert [step.wall_ns for step in loop.finish()] == [117] * 3


def test_promised_steps_that_never_come() -> None:
    loop = Loop()
    loop.clock.expect_steps(loop.now, loop.now // 2)
    for _ in range(100):
        loop.fetch().backward().optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.wall_ns for step in steps] == [67] * 100


def test_a_fresh_iterator_each_step() -> None:
    loop = Loop()
    for _ in range(3):
        loop.iterate().fetch().backward().optimize()
    steps = loop.finish()
    assert [step.wait_ns for step in steps] == [15, 15, 15]


def test_work_after_the_optimizer_stays_in_the_step_when_a_fetch_follows() -> None:
    loop = Loop()
    for _ in range(3):
        loop.fetch().backward().optimize().backward(2, 3)
    steps = loop.finish()
    assert phases(steps[1]) == (72, 10, 22, 33, 7)


def test_a_wait_whose_end_was_missed_does_not_hide_the_next() -> None:
    loop = Loop()
    loop.clock.fetch_begin(loop.now, 0, TRAIN)  # an interrupt came in between: nobody says that it is over
    loop.idle(10).backward().optimize()
    for _ in range(3):
        loop.fetch().backward().optimize()
    assert [step.wait_ns for step in loop.finish()] == [0, 10, 10, 10]
