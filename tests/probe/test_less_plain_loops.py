"""The step clock on loops that are written less often, with exact times (one unit = 1 ns)."""

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_FAILED, FLAG_WAIT_UNKNOWN
from tests.probe.written_loops import ADAM, OTHER, SGD, TRAIN, VAL, Loop, assert_partition, phases


def fused_backward(loop: Loop, *keys: int, forward: int = 20) -> None:
    """A backward in which optimizers step: 30 before each, 7 for each, 5 after the last."""
    loop.idle(forward)
    loop.clock.backward_begin(loop.now, 0)
    for key in keys:
        loop.idle(30).optimize(key)
    loop.idle(5)
    loop.clock.backward_end(loop.now)


def test_optimizers_inside_the_backward_take_their_time_out_of_it() -> None:
    loop = Loop()
    for _ in range(3):
        loop.fetch()
        fused_backward(loop, ADAM, SGD)
        loop.idle(3)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps] == [(112, 10, 20, 65, 14)] * 2 + [(109, 10, 20, 65, 14)]
    assert {step.flags & FLAG_FAILED for step in steps} == {0}


def test_without_a_loader_they_end_a_step_with_its_backward() -> None:
    loop = Loop()
    for _ in range(4):
        fused_backward(loop, ADAM, SGD)
        loop.idle(3)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps] == [(79, 0, 0, 65, 14)] + [(102, 0, 23, 65, 14)] * 3
    assert {step.flags for step in steps} == {FLAG_WAIT_UNKNOWN}


def test_two_such_backwards_in_a_step() -> None:
    loop = Loop()
    for _ in range(3):
        loop.fetch()
        fused_backward(loop, ADAM)
        fused_backward(loop, SGD)
    steps = loop.finish()
    assert_partition(steps)
    assert [phases(step) for step in steps] == [(134, 10, 40, 70, 14)] * 3


def test_an_optimizer_that_raises_inside_the_backward_marks_the_step() -> None:
    loop = Loop()
    loop.fetch()
    fused_backward(loop, ADAM)
    loop.fetch().idle(20)
    loop.clock.backward_begin(loop.now, 0)
    loop.idle(30)
    loop.clock.optimizer_begin(loop.now, 0, ADAM)
    loop.idle(4)
    loop.clock.backward_end(loop.now, failed=True)
    loop.fetch()
    fused_backward(loop, ADAM)
    steps = loop.finish()
    assert_partition(steps)
    assert [step.flags & FLAG_FAILED for step in steps] == [0, FLAG_FAILED, 0]
    assert [phases(step) for step in steps] == [
        (72, 10, 20, 35, 7),
        (64, 10, 20, 34, 0),  # an optimizer that never ended: the backward's all the way
        (72, 10, 20, 35, 7),
    ]


def test_an_epoch_left_by_break_right_after_a_fetch() -> None:
    loop = Loop()
    for _ in range(3):
        loop.iterate()
        for _ in range(2):
            loop.fetch().backward().optimize()
        loop.fetch(11)
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0, 0, 1, 1, 2, 2]
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0] * 3
    assert [step.samples for step in steps] == [4] * 6
    assert phases(steps[2]) == (83, 26, 20, 30, 7)  # the batch for nothing, the iterator, the batch
    assert loop.gaps == []


def test_the_same_with_a_loader_built_anew_is_known_one_step_late() -> None:
    loop = Loop()
    for epoch in range(3):
        loader = 10 + epoch
        loop.iterate(5, loader)
        for _ in range(3):
            loop.fetch(10, loader).backward().optimize()
        loop.fetch(11, loader)
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0, 0, 0, 0, 1, 1, 1, 2, 2]
    assert [phases(step)[1] for step in steps] == [15, 10, 10, 26, 10, 10, 26, 10, 10]
    assert loop.gaps == []


def test_a_second_loader_that_joins_later_begins_no_epoch() -> None:
    loop = Loop()
    loop.iterate()
    loop.fetch().backward().optimize().fetch().iterate(5, OTHER)
    loop.fetch(11, OTHER).backward().optimize()
    for _ in range(2):
        loop.fetch().fetch(11, OTHER).backward().optimize()
    steps = loop.finish()
    assert [step.epoch for step in steps] == [0] * 4
    assert [phases(step)[1] for step in steps] == [15, 26, 21, 21]


def test_a_batch_for_nothing_and_a_validation_before_the_next_epoch() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch().backward().optimize().fetch(11).idle(2)
        loop.iterate(5, VAL).fetch(10, VAL).idle(15).fetch(10, VAL).idle(15).end(VAL)
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0, 1]
    assert phases(steps[1]) == (85, 26, 20, 30, 7)  # 2 before the validation
    assert [(gap.batches, gap.duration_ns) for gap in loop.gaps] == [(2, 56), (2, 56)]


def test_a_long_loader_zipped_with_a_short_one_that_is_cycled() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch()
        loop.iterate(5, OTHER).fetch(11, OTHER).backward().optimize()
        loop.fetch().fetch(11, OTHER).backward().optimize()
        loop.fetch().end(OTHER).iterate(5, OTHER).fetch(11, OTHER).backward().optimize()
        loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.epoch for step in steps] == [0, 0, 0, 1, 1, 1]
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0, 0] * 2
    assert [phases(step)[1] for step in steps] == [31, 21, 27, 32, 21, 27]
    assert [step.samples for step in steps] == [4] * 6
    assert loop.gaps == []


def test_a_generator_that_steps_each_third_batch_gives_no_batch_up() -> None:
    loop = Loop()
    loop.iterate()
    for number in range(9):
        loop.fetch().backward().optimize(ADAM)
        if number % 3 == 2:
            loop.backward().optimize(SGD)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 9
    assert [step.flags for step in steps] == [FLAG_EPOCH_START] + [0] * 8


def test_a_batch_given_up_among_them_is_still_seen() -> None:
    loop = Loop()
    loop.iterate()
    for number in range(30):
        loop.fetch().backward().optimize(ADAM)
        if number % 3 == 2:
            loop.backward().optimize(SGD)
        if number == 21:
            loop.fetch(10, TRAIN)
    steps = loop.finish()
    assert [number for number, step in enumerate(steps) if step.flags & FLAG_FAILED] == [22]


def test_a_loader_that_is_read_one_batch_ahead() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch()
        for _ in range(3):
            loop.fetch().backward().optimize()
        loop.end().backward().optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.samples for step in steps] == [4] * 8
    assert [step.micro_batches for step in steps] == [1] * 8
    assert [step.epoch for step in steps] == [0] * 4 + [1] * 4
    assert [phases(step)[1] for step in steps] == [25, 10, 10, 1] * 2
    assert not any(step.flags & FLAG_FAILED for step in steps)


def test_accumulation_over_a_loader_that_is_read_one_batch_ahead() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch()
        for number in range(6):
            loop.fetch() if number < 5 else loop.end()
            loop.backward()
            if number % 2:
                loop.optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.samples for step in steps] == [8] * 6
    assert [step.micro_batches for step in steps] == [2] * 6
    assert not any(step.flags & FLAG_FAILED for step in steps)


def test_all_batches_of_a_step_fetched_before_it() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate()
        for _ in range(3):
            loop.fetch().fetch().fetch()
            loop.backward().backward().backward().optimize()
        loop.end()
    steps = loop.finish()
    assert_partition(steps)
    assert [step.samples for step in steps] == [12] * 6
    assert [step.micro_batches for step in steps] == [3] * 6
    assert [step.flags for step in steps] == [FLAG_EPOCH_START, 0, 0] * 2
