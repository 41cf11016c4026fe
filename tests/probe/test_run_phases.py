"""What a rank is at and what its time went to: on written stamps, with the exact right values."""

from hypothesis import given
from hypothesis import strategies as st

from perftui.trainer.probe.phase_now import Now
from perftui.trainer.probe.phase_spans import parted

from .stamped_loops import OTHER, VAL, StampedLoop

STARTED = 1_000
"""From the process's beginning to its first stamp, ns."""


def test_a_plain_training_is_training_and_the_loaders_first_start_is_between() -> None:
    loop = StampedLoop()
    loop.iterate()
    for _ in range(6):
        loop.step()
    assert loop.sums() == {"starting": STARTED, "between": 15, "training": 6 * 67 - 10}


def test_evaluation_between_steps_every_few() -> None:
    loop = StampedLoop()
    loop.iterate()
    for number in range(6):
        loop.step()
        if number % 2:
            loop.evaluate()
    sums = loop.idle(11).sums()
    assert sums == {
        "starting": STARTED,
        "between": 15,
        "training": 6 * 67 - 10,
        "validation": 3 * 81,
        "ending": 11,
    }


def test_evaluation_at_the_end_of_each_epoch() -> None:
    """Between: the loader is found empty (1), some printing (9), and its new start (15)."""
    loop = StampedLoop()
    for _ in range(3):
        loop.iterate().step().step().end()
        loop.evaluate().idle(9)
    assert loop.sums() == {
        "starting": STARTED,
        "between": 15 + 2 * (1 + 9 + 15),
        "training": 3 * (2 * 67 - 10),
        "validation": 3 * 81,
        "ending": 1 + 9,
    }


def test_checkpoints_every_few_steps_and_evaluation_at_the_epochs_end() -> None:
    loop = StampedLoop()
    for _ in range(2):
        loop.iterate().step().save().step().save().end()
        loop.evaluate().save(70)
    assert loop.sums() == {
        "starting": STARTED,
        "between": 15 + 1 + 15,
        "training": 2 * (2 * 67 - 10),
        "validation": 2 * 81,
        "checkpoint": 4 * 40 + 2 * 70,
        "ending": 1,
    }


def test_a_validation_before_the_first_step() -> None:
    """As Lightning's sanity check: the loader is left without being asked for its end."""
    loop = StampedLoop()
    loop.iterate(VAL).fetch(VAL, grad=False).idle(15).fetch(VAL, grad=False).idle(15)
    loop.iterate().step().step()
    assert loop.sums() == {"starting": STARTED, "validation": 55, "between": 15, "training": 124}


def test_a_checkpoint_in_a_validation_is_a_checkpoint_and_a_compilation_is_a_compilation() -> None:
    loop = StampedLoop()
    loop.iterate().step()
    loop.iterate(VAL, grad=False).fetch(VAL, grad=False).save(30)
    compiled = (loop.now, loop.now + 100)
    loop.idle(100).fetch(VAL, grad=False).end(VAL, grad=False)
    loop.step()
    loop.ledger.add("compiling", [compiled])
    assert loop.sums() == {
        "starting": STARTED,
        "between": 15,
        "training": 124,
        "validation": 5 + 10 + 10 + 1,
        "checkpoint": 30,
        "compiling": 100,
    }


def test_an_epoch_left_by_break_ends_with_its_last_work() -> None:
    loop = StampedLoop()
    for _ in range(2):
        loop.iterate().step().step().idle(50)
    assert loop.sums()["between"] == 15 + 50 + 15


def test_a_loader_read_ahead_is_found_empty_before_the_last_work() -> None:
    loop = StampedLoop()
    for _ in range(2):
        loop.iterate().fetch().fetch().work().end().work().idle(9)
    sums = loop.sums()
    assert sums["between"] == 15 + 9 + 15
    assert sums["ending"] == 9


def test_a_second_training_loader_that_begins_anew_is_no_turn_of_the_epoch() -> None:
    loop = StampedLoop()
    loop.iterate().iterate(OTHER)
    for _ in range(2):
        loop.fetch().fetch(OTHER).work()
        loop.fetch().end(OTHER).iterate(OTHER).fetch(OTHER).work()
    assert loop.sums() == {
        "starting": STARTED,
        "between": 5 + 5 + 10,
        "training": 2 * (10 + 10 + 57 + 10 + 1 + 5 + 10 + 57) - 10,
    }


def test_what_goes_on_is_told_while_it_does() -> None:
    loop = StampedLoop()
    assert loop.wake().phase == "starting"
    loop.iterate().step().step().ask()
    assert loop.wake().phase == "training"
    loop.reader.read([(3, loop.now, -1, 4)])
    loop.work()
    begin = loop.now
    loop.iterate(VAL, grad=False).fetch(VAL, grad=False)
    told = loop.wake()
    assert (told.phase, told.since_ns) == ("validation", begin)
    loop.fetch(VAL, grad=False).end(VAL, grad=False)
    assert loop.wake().phase == "training"
    begin = loop.now
    loop.begin_save().idle(500)
    told = loop.wake()
    assert (told.phase, told.since_ns) == ("checkpoint", begin)
    assert round(told.seconds["checkpoint"] * 1e9, -3) == 0
    assert loop.ledger.sums_ns["checkpoint"] == 500
    assert loop.ledger.sums_ns["validation"] == 26
    told = loop.idle(5).wake(compiling_ns=loop.now - 5)
    assert (told.phase, told.since_ns) == ("compiling", loop.now - 5)


def test_a_training_loader_at_its_end_and_a_new_iterator_are_between() -> None:
    loop = StampedLoop()
    loop.iterate().step().step()
    begin = loop.now
    loop.end().idle(100)
    assert (loop.wake().phase, loop.wake().since_ns) == ("between", begin)
    loop.iterate().ask().idle(100)
    assert loop.wake().phase == "between"
    assert loop.ledger.sums_ns["between"] == 15 + 206


def test_zipped_loaders_are_no_validation() -> None:
    loop = StampedLoop()
    loop.iterate().iterate(OTHER)
    for _ in range(3):
        loop.fetch().fetch(OTHER)
        assert loop.wake().phase != "validation"
        loop.work()
    assert "validation" not in loop.sums()


def test_batches_that_a_prefetcher_takes_without_gradients_are_no_validation() -> None:
    loop = StampedLoop()
    loop.iterate(grad=False).fetch(grad=False).work()  # the probe says nothing before a first backward
    for _ in range(3):
        loop.fetch(grad=False)
        assert loop.wake().phase != "validation"
        loop.work()
    assert "validation" not in loop.sums()


def test_several_validations_in_a_row_are_one_to_the_reader_of_the_screen() -> None:
    loop = StampedLoop()
    loop.iterate().step()
    begin = loop.now
    loop.evaluate().evaluate(loader=OTHER).iterate(VAL, grad=False).fetch(VAL, grad=False)
    assert loop.wake().since_ns == begin
    assert loop.ledger.sums_ns["validation"] == 2 * 81 + 15


def test_a_validation_whose_end_is_never_asked_for_ends_with_the_checkpoint() -> None:
    """As Lightning validates: it knows how many batches there are."""
    loop = StampedLoop()
    loop.iterate().step().step().end()
    loop.iterate(VAL, grad=False).fetch(VAL, grad=False).idle(15).fetch(VAL, grad=False).idle(15)
    assert loop.wake().phase == "validation"
    loop.save(40).idle(100)
    assert loop.wake().phase == "between"
    assert loop.ledger.sums_ns["validation"] == 55
    assert loop.sums() == {
        "starting": STARTED,
        "between": 15,
        "training": 124,
        "validation": 55,
        "checkpoint": 40,
        "ending": 1 + 100,
    }


def test_nothing_is_told_anew_while_only_time_passes() -> None:
    loop = StampedLoop()
    loop.iterate().step().step().ask()
    told = loop.wake()
    assert loop.idle(1_000_000).wake() is told
    assert loop.idle(10_000_000_000).wake() is not told
    loop.begin_save()
    told = loop.wake()
    assert told.phase == "checkpoint"
    assert loop.idle(1_000_000).wake() is told


def test_a_checkpoint_told_late_takes_its_time_from_the_training() -> None:
    loop = StampedLoop()
    loop.iterate().step().idle(40).step().step().ask()
    loop.wake()
    loop.ledger.add("checkpoint", [(2_000 + 72, 2_000 + 112)])
    assert loop.sums(at_end=False)["checkpoint"] == 40


def test_now_is_training_before_anything_was_stamped() -> None:
    assert StampedLoop().reader.now.now() == Now("training", 0)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=6),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=6),
)
def test_parts_are_those_of_a_count_moment_by_moment(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    spans = {"a": [(at, at + ns) for at, ns in a], "b": [(at, at + ns) for at, ns in b]}
    counted = {"a": 0, "b": 0, "rest": 0}
    for moment in range(10, 70):
        kinds = [kind for kind in spans if any(at <= moment < end for at, end in spans[kind])]
        counted[kinds[0] if kinds else "rest"] += 1
    assert parted(10, 70, spans, "rest") == counted
