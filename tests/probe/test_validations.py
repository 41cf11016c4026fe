"""Which fetches were a validation, when it began and ended, and which step it lies in."""

from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.placing import Placing
from perftui.trainer.probe.step_parts import GapRecord
from perftui.trainer.probe.step_times import StepTimes

from .written_loops import OTHER, VAL, Loop, assert_partition, phases

Gap = tuple[int, int, int]


def gaps_of(loop: Loop) -> list[Gap]:
    """Return batches, duration, and the number of steps that had ended before."""
    return [
        (gap.batches, gap.duration_ns, sum(step.end_ns <= gap.at_ns for step in loop.steps))
        for gap in loop.gaps
    ]


def validate(loop: Loop, loader: int = VAL, batches: int = 2) -> Loop:
    loop.iterate(5, loader)
    for _ in range(batches):
        loop.fetch(10, loader, grad=False).idle(15)
    return loop


def train(loop: Loop) -> Loop:
    return loop.fetch().backward().optimize()


def test_validation_between_epochs_is_a_gap() -> None:
    loop = Loop()
    for _ in range(2):
        train(train(loop.iterate())).end()
        validate(loop, batches=3).end(VAL)
    steps = loop.finish()
    assert_partition(steps)
    assert len(steps) == 4
    assert phases(steps[2]) == (73, 16, 20, 30, 7)
    assert gaps_of(loop) == [(3, 81, 2), (3, 81, 4)]


def test_validation_in_mid_epoch_left_by_break() -> None:
    loop = Loop()
    train(loop.iterate())
    train(validate(loop)).end()
    steps = loop.finish()
    assert len(steps) == 2
    assert phases(steps[1]) == (67, 10, 20, 30, 7)
    assert gaps_of(loop) == [(2, 55, 1)]


def test_one_validation_batch_without_gradients() -> None:
    loop = Loop()
    train(loop.iterate())
    loop.fetch(10, VAL, grad=False).idle(15)
    train(loop)
    steps = loop.finish()
    assert phases(steps[1]) == (67, 10, 20, 30, 7)
    assert gaps_of(loop) == [(1, 25, 1)]


def test_validation_before_training_and_nested_in_a_step() -> None:
    loop = Loop()
    loop.iterate(5, VAL).fetch(10, VAL).fetch(10, VAL).end(VAL)
    loop.iterate().fetch()
    loop.iterate(5, VAL).fetch(10, VAL).fetch(10, VAL).end(VAL)
    loop.backward().optimize()
    steps = loop.finish()
    assert [phases(step) for step in steps] == [(72, 15, 20, 30, 7)]
    assert gaps_of(loop) == [(2, 26, 0), (2, 26, 0)]


def test_what_follows_a_validation_is_not_its_time() -> None:
    """A checkpoint of 40, then 3 of anything."""
    loop = Loop()
    train(train(loop.iterate())).end()
    validate(loop).end(VAL).save(40).idle(3)
    train(loop.iterate())
    steps = loop.finish()
    assert_partition(steps)
    assert gaps_of(loop) == [(2, 56, 2)]
    assert phases(steps[2]) == (72 + 1 + 40 + 3, 16, 20, 30, 7)


def test_validation_whose_end_is_never_asked_for_ends_at_the_checkpoint() -> None:
    """As Lightning validates: it knows how many batches there are."""
    loop = Loop()
    for _ in range(2):
        train(train(loop.iterate())).end()
        validate(loop).save(40).idle(3)
    steps = loop.finish()
    assert gaps_of(loop) == [(2, 55, 2), (2, 55, 4)]
    assert phases(steps[2]) == (72 + 1 + 40 + 3, 16, 20, 30, 7)


def test_a_checkpoint_in_the_middle_of_a_validation_does_not_end_it() -> None:
    loop = Loop()
    train(loop.iterate())
    loop.iterate(5, VAL).fetch(10, VAL, grad=False).save(7).fetch(10, VAL, grad=False).end(VAL)
    train(loop)
    loop.finish()
    assert gaps_of(loop) == [(2, 33, 1)]


def test_a_checkpoint_between_fetch_and_backward_changes_nothing() -> None:
    loop = Loop()
    loop.iterate().fetch().save(40).backward().optimize()
    assert [phases(step) for step in loop.finish()] == [(112, 15, 60, 30, 7)]
    assert loop.gaps == []


def test_the_last_batch_of_a_validation_that_is_read_ahead_is_worked_on_after_its_end() -> None:
    """Nobody sees when that work is over: it is the next step's, and no checkpoint is the validation's."""
    loop = Loop()
    train(loop.iterate().fetch()).end().backward().optimize()
    loop.iterate(5, VAL).fetch(10, VAL, grad=False)
    loop.fetch(10, VAL, grad=False).idle(15).end(VAL).idle(15).save(40)
    train(loop.iterate().fetch())
    steps = loop.finish()
    assert gaps_of(loop) == [(2, 41, 2)]
    assert phases(steps[2]) == (82 + 15 + 40, 25, 20, 30, 7)


def test_validations_of_two_loaders_are_two() -> None:
    loop = Loop()
    train(loop.iterate())
    validate(loop, VAL, 2).end(VAL)
    validate(loop, OTHER, 3).end(OTHER)
    train(loop)
    loop.finish()
    assert gaps_of(loop) == [(2, 56, 1), (3, 81, 1)]


def test_validations_of_two_loaders_whose_ends_are_never_asked_for_are_two() -> None:
    loop = Loop()
    train(loop.iterate())
    validate(loop, VAL, 2)
    validate(loop, OTHER, 3)
    train(loop)
    loop.finish()
    assert gaps_of(loop) == [(2, 55, 1), (3, 80, 1)]


def test_two_validations_of_one_loader_are_two() -> None:
    for asks_for_the_end in (True, False):
        loop = Loop()
        for _ in range(2):
            validate(loop)
            if asks_for_the_end:
                loop.end(VAL)
        train(loop.iterate())
        steps = loop.finish()
        assert [gap.batches for gap in loop.gaps] == [2, 2]
        assert [gap.duration_ns for gap in loop.gaps] == [55 + asks_for_the_end] * 2
        assert phases(steps[0]) == (72, 15, 20, 30, 7)


def test_two_loaders_that_take_turns_are_one_validation() -> None:
    loop = Loop()
    train(loop.iterate())
    loop.iterate(5, VAL).iterate(5, OTHER)
    for _ in range(3):
        loop.fetch(10, VAL, grad=False).fetch(10, OTHER, grad=False).idle(15)
    loop.end(VAL)
    train(loop)
    loop.finish()
    assert [(gap.batches, gap.duration_ns) for gap in loop.gaps] == [(6, 3 * 35)]


def test_the_first_step_does_not_begin_with_the_validation_before_it() -> None:
    loop = Loop()
    validate(loop).end(VAL).idle(5000)
    train(train(loop.iterate()))
    steps = loop.finish()
    assert [phases(step) for step in steps] == [(72, 15, 20, 30, 7), (67, 10, 20, 30, 7)]
    assert gaps_of(loop) == [(2, 56, 0)]
    assert [step.cpu_ns for step in steps] == [-1, 33], "not asked where the first begins"


def test_validations_are_placed_by_their_time_however_late_their_steps_are_made() -> None:
    """Without an optimizer steps are held until it is clear what bounds them."""
    loop = Loop()
    for _ in range(2):
        for _ in range(3):
            loop.fetch().backward()
        validate(loop).end(VAL)
    assert loop.steps == []
    times = StepTimes()
    placing: Placing[GapRecord] = Placing(times)
    steps: list[StepRecord] = loop.finish()
    for gap in loop.gaps:
        placing.add(gap.at_ns + 1, gap)
    times.note(steps)
    assert [step for step, _ in placing.placed()] == [3]
    assert [step for step, _ in placing.rest(6)] == [6]
