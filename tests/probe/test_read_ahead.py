"""Samples, micro-batches and epochs are those of the batches trained on, not of those fetched meanwhile."""

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_FAILED, FLAG_WAIT_UNKNOWN
from perftui.ipc.step_record import StepRecord

from .written_loops import ADAM, OTHER, SGD, TRAIN, Loop, assert_partition, phases


def trained(steps: list[StepRecord]) -> list[tuple[int, int]]:
    """Return samples and micro-batches."""
    return [(step.samples, step.micro_batches) for step in steps]


def assert_usual(steps: list[StepRecord]) -> None:
    assert_partition(steps)
    assert [step.step for step in steps if step.flags & FLAG_FAILED] == []


def test_one_batch_ahead() -> None:
    """Batches of 1 to 4 samples: each step has its own."""
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch(samples=1)
        for samples in (2, 3, 4):
            loop.fetch(samples=samples).backward().optimize()
        loop.end().backward().optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(1, 1), (2, 1), (3, 1), (4, 1)] * 2
    assert [step.epoch for step in steps] == [0] * 4 + [1] * 4
    assert [bool(step.flags & FLAG_EPOCH_START) for step in steps] == [True, False, False, False] * 2
    assert [phases(step)[1] for step in steps] == [25, 10, 10, 1] * 2, "the wait is that of the fetches in it"
    assert loop.gaps == []


def test_accumulation_with_batches_fetched_up_front_and_one_ahead() -> None:
    """As the Trainer of transformers does it, for 8 batches and 3 a step."""
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch().fetch().fetch().fetch().backward().backward().backward().optimize()
        loop.fetch().fetch().fetch().backward().backward().backward().optimize()
        loop.fetch().end().backward().backward().optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(12, 3), (12, 3), (8, 2)] * 2


def test_accumulation_with_one_batch_ahead_of_each_backward() -> None:
    """As accelerate does it."""
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch()
        for number in range(1, 9):
            loop.fetch() if number < 8 else loop.end()
            loop.backward()
            if number % 3 == 0 or number == 8:
                loop.optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(12, 3), (12, 3), (8, 2)] * 2


def test_batches_of_a_step_fetched_up_front() -> None:
    loop = Loop()
    loop.iterate()
    for _ in range(3):
        loop.fetch().fetch().fetch()
        loop.backward().backward().backward().optimize()
    loop.end()
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(12, 3)] * 3
    assert steps[2].flags == 0


def test_two_losses_of_each_batch_with_one_ahead() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch(samples=1)
        for samples in (2, 3):
            loop.fetch(samples=samples).backward().optimize(ADAM).backward().optimize(SGD)
        loop.end().backward().optimize(ADAM).backward().optimize(SGD)
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(1, 1), (2, 1), (3, 1)] * 2


def test_two_batches_for_each_backward() -> None:
    """Nothing tells the first step from one that is read ahead: its second batch comes with the next."""
    loop = Loop()
    for _ in range(2):
        loop.iterate()
        for _ in range(4):
            loop.fetch().fetch().backward().optimize()
        loop.end()
    steps = loop.finish()
    assert_usual(steps)
    assert [step.samples for step in steps] == [4, 12, 8, 8, 8, 8, 8, 8]


def test_a_rank_that_fetches_for_two_and_a_batch_for_each_ahead() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch().fetch()
        for _ in range(3):
            loop.fetch().fetch().backward().optimize()
        loop.end().backward().optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert [step.samples for step in steps] == [4, 12, 8, 8, 8, 8, 8, 8]


def test_a_batch_that_is_given_up_counts_to_the_step_in_which_the_next_one_came() -> None:
    loop = Loop()
    loop.iterate().fetch()
    for number in range(11):
        loop.fetch()
        if number == 9:
            loop.idle(500).fetch()
        loop.backward().optimize()
    loop.end().backward().optimize()
    steps = loop.finish()
    assert [number for number, step in enumerate(steps) if step.flags & FLAG_FAILED] == [9]
    assert [step.samples for step in steps] == [4] * 9 + [8, 4, 4]


def test_what_an_iterator_left_is_given_up_when_the_next_one_begins() -> None:
    loop = Loop()
    for _ in range(2):
        loop.iterate().fetch(samples=1)
        for samples in (2, 3, 4):
            loop.fetch(samples=samples).backward().optimize()  # and break
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(1, 1), (2, 1), (3, 1)] * 2


def test_a_step_across_two_epochs_has_the_batches_of_both() -> None:
    loop = Loop()
    train = loop.iterate().fetch(samples=1).backward().optimize().fetch(samples=2).backward().end()
    train.iterate().fetch(samples=3).backward().optimize().fetch(samples=4).backward().optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert trained(steps) == [(1, 1), (5, 2), (4, 1)]
    assert [step.epoch for step in steps] == [0, 1, 1]


def test_explicit_steps_with_one_batch_ahead() -> None:
    loop = Loop()
    loop.clock.expect_steps(loop.now, 0)
    loop.iterate().fetch(samples=1)
    for samples in (2, 3, None):
        loop.end() if samples is None else loop.fetch(samples=samples)
        loop.backward().optimize()
        loop.clock.step(loop.now, 0)
    assert trained(loop.finish()) == [(1, 1), (2, 1), (3, 1)]


def test_batches_without_a_size_stay_so() -> None:
    loop = Loop()
    loop.iterate().fetch(samples=-1)
    for samples in (4, -1):
        loop.fetch(samples=samples).backward().optimize()
    loop.end().backward().optimize()
    assert [step.samples for step in loop.finish()] == [-1, 4, -1]


def test_a_rank_that_is_sent_its_batches_counts_steps_and_epochs_and_knows_no_wait() -> None:
    """It makes an iterator as the other ranks do, and never asks it for a batch."""
    loop = Loop()
    for _ in range(2):
        loop.iterate()
        for _ in range(4):
            loop.backward().optimize()
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 8
    assert {step.flags & ~FLAG_EPOCH_START for step in steps} == {FLAG_WAIT_UNKNOWN}
    assert [step.epoch for step in steps] == [0] * 4 + [1] * 4
    assert [step.step for step in steps if step.flags & FLAG_EPOCH_START] == [0, 4]


def train_on(loop: Loop, batches: int, loader: int = TRAIN) -> Loop:
    for _ in range(batches):
        loop.fetch(loader=loader).backward().optimize()
    return loop


def test_one_iterator_for_all_epochs_is_told_by_the_length() -> None:
    loop = Loop({TRAIN: 8})
    train_on(loop.iterate(), 20)
    steps = loop.finish()
    assert_usual(steps)
    assert [step.epoch for step in steps] == [0] * 8 + [1] * 8 + [2] * 4
    assert [step.step for step in steps if step.flags & FLAG_EPOCH_START] == [0, 8, 16]


def test_epochs_by_length_with_accumulation_and_one_batch_ahead() -> None:
    loop = Loop({TRAIN: 4})
    loop.iterate().fetch()
    for _ in range(6):
        loop.fetch().backward().fetch().backward().optimize()
    steps = loop.finish()
    assert_usual(steps)
    assert [step.epoch for step in steps] == [0, 0, 1, 1, 2, 2]
    assert trained(steps) == [(8, 2)] * 6


def test_an_iterator_that_ends_counts_its_epoch_once() -> None:
    loop = Loop({TRAIN: 8})
    for _ in range(3):
        train_on(loop.iterate(), 8).end()
    assert [step.epoch for step in loop.finish()] == [0] * 8 + [1] * 8 + [2] * 8


def test_a_length_that_an_iterator_does_not_keep_to_is_none() -> None:
    """Some samplers say a wrong one."""
    loop = Loop({TRAIN: 8})
    for _ in range(3):
        train_on(loop.iterate(), 10).end()
    assert [step.epoch for step in loop.finish()] == [0] * 8 + [1] * 2 + [2] * 10 + [3] * 10


def test_the_length_of_another_loader_is_its_own() -> None:
    loop = Loop({OTHER: 3})
    train_on(loop.iterate(), 5).end()
    train_on(loop.iterate(loader=OTHER), 6, OTHER)
    assert [step.epoch for step in loop.finish()] == [0] * 5 + [1] * 3 + [2] * 3
