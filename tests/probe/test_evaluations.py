"""Evaluations that no loader feeds: which are known, how long they take, what stays in the step."""

import pytest

from perftui.trainer.probe.evaluations import (
    LEAST_KNOWN,
    SHORTEST_NS,
    TIMES_USUAL,
    TIMES_USUAL_BY_LOOKS,
    Evaluations,
)
from perftui.trainer.probe.step_parts import GapRecord

from .stamped_loops import StampedLoop
from .written_loops import TRAIN, VAL, Loop, assert_partition, phases

_MS = 1_000_000
_FORWARD = 2 * _MS


def _without_a_loader(steps: int, loop: Loop | None = None) -> Loop:
    loop = loop or Loop()
    for _ in range(steps):
        loop.backward(_FORWARD).optimize()
    return loop


def _evaluate(loop: Loop, ns: int) -> Loop:
    loop.clock.evaluations.called(loop.now)
    return loop.idle(ns)


def test_what_lies_between_two_steps_after_eval_is_a_validation() -> None:
    loop = _without_a_loader(6)
    for _ in range(3):
        _evaluate(loop.idle(5), 50 * _MS)
        _without_a_loader(6, loop)
    steps = loop.finish()
    assert_partition(steps)
    assert [gap.duration_ns for gap in loop.gaps] == [50 * _MS] * 3
    assert [gap.batches for gap in loop.gaps] == [0] * 3
    assert [sum(step.end_ns <= gap.at_ns for step in steps) for gap in loop.gaps] == [6, 12, 18]
    usual = (_FORWARD + 30 + 7, 0, _FORWARD, 30, 7)
    assert [phases(step) for step in steps[1:]] == [
        (usual[0] + late, 0, usual[2] + late, 30, 7)
        for late in (5 * (number in (6, 12, 18)) for number in range(1, 24))
    ]


@pytest.mark.parametrize("extra", [-1, 0])
def test_a_stretch_after_eval_at_the_threshold(extra: int) -> None:
    loop = _without_a_loader(6)
    _without_a_loader(2, _evaluate(loop, (TIMES_USUAL - 1) * _FORWARD + extra))
    loop.finish()
    assert bool(loop.gaps) is (extra == 0)


@pytest.mark.parametrize("extra", [-1, 0])
def test_a_stretch_that_looks_alone_found_at_the_threshold(extra: int) -> None:
    loop = _without_a_loader(6).idle(1000)
    loop.clock.evaluations.seen(loop.now)
    _without_a_loader(2, loop.idle((TIMES_USUAL_BY_LOOKS - 1) * _FORWARD - 1000 + extra))
    loop.finish()
    assert [gap.duration_ns for gap in loop.gaps] == ([4 * _FORWARD] if extra == 0 else [])


def test_a_short_one_is_not_told() -> None:
    for ns in (SHORTEST_NS - 1, SHORTEST_NS):
        loop = Loop()
        for _ in range(6):
            loop.backward(20).optimize()
        _evaluate(loop, ns).backward(20).optimize().backward(20).optimize().finish()
        assert bool(loop.gaps) is (ns == SHORTEST_NS)


def test_before_what_is_usual_is_known_nothing_is_taken_out() -> None:
    """The first step is taken from its backward on."""
    for steps in (LEAST_KNOWN, LEAST_KNOWN + 1):
        loop = _without_a_loader(steps)
        _without_a_loader(2, _evaluate(loop, 50 * _MS)).finish()
        assert bool(loop.gaps) is (steps > LEAST_KNOWN)


def test_what_is_evaluated_in_each_step_is_a_part_of_it() -> None:
    """Pseudo-labels: however much their length differs."""
    loop = _without_a_loader(1)
    for number in range(40):
        _without_a_loader(1, _evaluate(loop, (1 + 29 * (number % 4 == 3)) * _MS))
    loop.finish()
    assert loop.gaps == []


def test_validations_after_every_other_step() -> None:
    loop = _without_a_loader(1)
    for _ in range(40):
        _without_a_loader(2, _evaluate(loop, 50 * _MS))
    loop.finish()
    assert len(loop.gaps) > 30
    assert {gap.duration_ns for gap in loop.gaps} == {50 * _MS}


def test_a_checkpoint_ends_it() -> None:
    loop = _without_a_loader(6)
    _evaluate(loop, 50 * _MS)
    loop.clock.evaluations.interrupted(loop.now)
    _without_a_loader(2, loop.idle(20 * _MS))
    steps = loop.finish()
    assert [gap.duration_ns for gap in loop.gaps] == [50 * _MS]
    assert steps[6].wall_ns == 20 * _MS + _FORWARD + 37


def test_a_loader_that_trains_and_none_that_validates() -> None:
    """In the loop's body after the step, and at its head between the batch and the forward."""
    for at_head in (False, True):
        loop = Loop().iterate()
        for number in range(12):
            loop.fetch()
            if at_head and number == 8:
                _evaluate(loop, 50 * _MS)
            loop.backward(20).optimize()
            if not at_head and number == 8:
                _evaluate(loop, 50 * _MS)
        steps = loop.finish()
        assert_partition(steps)
        assert [gap.duration_ns for gap in loop.gaps] == [50 * _MS]
        assert {step.wall_ns for step in steps[1:]} == {67}
        assert {step.forward_ns for step in steps} == {20}


def test_a_loader_that_validates_tells_by_itself() -> None:
    loop = Loop().iterate()
    for _ in range(6):
        loop.fetch().backward().optimize()
    _evaluate(loop, 3 * _MS).iterate(5, VAL)
    for _ in range(3):
        loop.clock.evaluations.seen(loop.now)
        loop.fetch(10, VAL, grad=False).idle(30 * _MS)
    loop.end(VAL)
    loop.fetch().backward().optimize()
    loop.finish()
    assert [(gap.batches, gap.duration_ns) for gap in loop.gaps] == [(3, 5 + 3 * (10 + 30 * _MS) + 1)]


def test_a_look_is_kept_until_what_came_before_it_was_read() -> None:
    gaps: list[GapRecord] = []
    evaluations = Evaluations(gaps.append)
    for number in range(6):
        evaluations.ends(number * 100, number * 100 + 50, "backward")
    evaluations.seen(10 * _MS)
    assert evaluations.ends(600, 650, "backward") == 0
    assert evaluations.ends(700, 20 * _MS, "backward") == 20 * _MS - 700 - 50
    assert not evaluations.looked_at
    assert evaluations.ends(21 * _MS, 40 * _MS, "backward") == 0, "nothing marked it"


def test_regular_steps_leave_a_look_its_stretch() -> None:
    """The short cut that makes most steps does not pass over it."""
    loop = StampedLoop()
    loop.iterate()
    for _ in range(8):
        loop.step().wake()
    for number in range(9):
        loop.step()
        if number == 4:
            loop.reader.clock.evaluations.seen(loop.now + 5)
            loop.idle(50 * _MS)
    assert loop.sums()["validation"] == 50 * _MS


def test_what_goes_on_is_told_once_it_is_known_to_be_a_validation() -> None:
    loop = StampedLoop()
    loop.iterate()
    for _ in range(8):
        loop.step().wake()
    for told in ("training", "validation"):
        loop.call_eval()
        loop.idle(50 * _MS)
        assert loop.wake().phase == told
        loop.step().step()
        assert loop.wake().phase == "training"
    assert loop.ledger.sums_ns["validation"] == 100 * _MS
    loop.call_eval()
    loop.idle(20 * _MS).save(7).idle(100)
    assert loop.wake().phase == "training"
    assert loop.ledger.sums_ns["validation"] == 120 * _MS


def test_a_first_fetch_is_no_end_of_anything() -> None:
    loop = Loop()
    loop.clock.evaluations.called(loop.now)
    loop.idle(50 * _MS).iterate(5, TRAIN)
    for _ in range(3):
        loop.fetch().backward().optimize()
    loop.finish()
    assert loop.gaps == []
