"""A look in turns: bounded ones, and a rest after it."""

import pytest

from perftui.trainer.diagnosis.in_parts import Parts, at_once
from perftui.trainer.hub import timed_looks
from perftui.trainer.hub.timed_looks import TimedLooks


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timed_looks, "time", made)
    return made


def test_a_short_look_ends_in_its_turn_and_the_next_comes_a_second_later(clock: Clock) -> None:
    begun: list[float] = []

    def begin() -> Parts[bool]:
        begun.append(clock.now)
        clock.now += 0.002
        yield
        return True

    looks = TimedLooks()
    ended: list[bool] = []
    for _ in range(100):
        ended.append(looks.turn(begin))
        clock.now += 0.05
    assert ended.count(True) == len(begun) == 5
    assert ended[0]


def test_a_long_look_takes_many_turns_and_is_followed_by_a_rest(clock: Clock) -> None:
    begun: list[float] = []
    worked = 0

    def begin() -> Parts[bool]:
        nonlocal worked
        begun.append(clock.now)
        for _ in range(500):
            clock.now += 0.001
            worked += 1
            yield
        return True

    looks = TimedLooks()
    while len(begun) < 3:
        before = clock.now
        looks.turn(begin)
        assert clock.now - before < 0.017
        clock.now += 0.02
    share = 0.001 * 500 / (begun[1] - begun[0])
    assert 0.09 < share < 0.13


def test_what_may_be_done_in_parts_can_be_done_at_once() -> None:
    def parts() -> Parts[int]:
        yield
        yield
        return 7

    assert at_once(parts()) == 7
