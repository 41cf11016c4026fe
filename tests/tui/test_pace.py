"""How often a terminal is given a picture: decided from what the last ones took; no clock, no terminal."""

import pytest

from perftui.tui.delivery import Delivery
from perftui.tui.pace import Pace, delivered, given_up, slow_s, wait_s


def after(*pictures: tuple[float, float]) -> Pace:
    """Return what pictures teach of which each took so long, and kept the way busy for so long of that."""
    pace = Pace()
    for took_s, busy_s in pictures:
        pace = delivered(pace, took_s, busy_s)
    return pace


def test_a_quick_terminal_never_waits_to_speak_of() -> None:
    pace = after(*[(0.002, 0.001)] * 10)
    assert wait_s(pace, None, 0.001) == 0.0
    assert slow_s(pace) is None


def test_a_long_way_that_is_not_narrow_is_no_slow_terminal() -> None:
    pace = after(*[(0.4, 0.0)] * 10)
    assert pace.rest_s == 0.0
    assert slow_s(pace) is None


def test_a_narrow_link_rests_as_long_as_a_picture_kept_it_busy() -> None:
    pace = after((1.2, 1.0))
    assert wait_s(pace, None, 0.25) == 0.75
    assert wait_s(pace, None, 1.1) == 0.0


def test_while_a_picture_is_on_its_way_the_next_one_waits_but_not_for_ever() -> None:
    pace = after((0.2, 0.1))
    assert wait_s(pace, 0.5, 0.0) == 9.5
    assert wait_s(pace, 10.0, 0.0) == 0.0


def test_a_stall_is_not_paid_for_with_a_rest_of_its_own_length() -> None:
    assert after((60.2, 60.0)).rest_s == 3.0


def test_slowness_is_told_once_it_lasts_and_no_more_once_it_is_over() -> None:
    slow = after((0.2, 0.0), *[(1.1, 0.9)] * 4)
    assert slow_s(slow) == 2
    assert slow_s(after((0.2, 0.0), *[(1.1, 0.9)] * 3)) is None
    assert slow_s(after(*[(0.2, 0.1)] * 4, (3.0, 2.8))) is None, "one large picture is no slow terminal"
    for _ in range(3):
        slow = delivered(slow, 0.2, 0.1)
    assert slow_s(slow) is None


def test_what_is_told_does_not_flicker_at_the_threshold() -> None:
    pace = after(*[(0.45, 0.35)] * 5)
    assert slow_s(pace) == 1
    for _ in range(5):
        pace = delivered(pace, 0.36, 0.26)
        assert slow_s(pace) == 1


def test_answers_that_never_come_are_told_as_well() -> None:
    pace = after((0.2, 0.1))
    for _ in range(4):
        pace = given_up(pace)
    assert slow_s(pace) == 10


def answering(now: float = 0.2) -> Delivery:
    """Return one that knows that its terminal answers, a fifth of a second away."""
    delivery = Delivery()
    assert not delivery.begin(0.0)
    assert delivery.sent(0.0)
    delivery.answered(now)
    return delivery


def test_what_lies_between_both_answers_is_what_a_picture_costs_the_link() -> None:
    delivery = answering()
    assert delivery.begin(1.0)
    assert delivery.sent(1.0)
    assert delivery.wait_s(1.1, free_s=1.0) > 0, "its line has taken it, but the terminal has not"
    delivery.answered(1.2)
    assert delivery.wait_s(1.3, free_s=1.0) > 0
    delivery.answered(1.6)
    assert delivery.pace.periods_s == pytest.approx((1.0,))
    assert delivery.wait_s(1.6, free_s=1.0) == pytest.approx(0.4)
    assert delivery.wait_s(2.1, free_s=1.0) == 0.0


def test_a_mute_terminal_is_asked_a_few_times_and_then_its_line_decides() -> None:
    delivery = Delivery()
    asked = 0
    for second in range(10):
        assert not delivery.begin(float(second))
        asked += delivery.sent(float(second))
        assert delivery.wait_s(second + 0.1, free_s=None) > 0
        assert delivery.wait_s(second + 0.9, free_s=second + 0.2) == 0.0
    assert asked == 3
    assert delivery.last_answer_s() == 0.0


def test_a_terminal_of_which_nothing_is_known_is_given_a_moment_to_answer() -> None:
    delivery = Delivery()
    delivery.sent(0.0)
    assert delivery.wait_s(0.1, free_s=0.01) == pytest.approx(0.4)
    assert delivery.wait_s(0.6, free_s=0.01) == 0.0
    delivery.sent(1.0)
    delivery.answered(1.1)
    assert delivery.wait_s(1.2, free_s=1.01) > 0, "this was the answer to the first, the second is on its way"


def test_a_mute_terminal_that_answers_late_is_believed_from_then_on() -> None:
    delivery = Delivery()
    for second in range(7):
        delivery.sent(float(second))
    delivery.answered(7.0)
    assert delivery.sent(8.0)


def test_what_keys_paint_while_a_picture_is_on_its_way_teaches_nothing_but_is_waited_for() -> None:
    delivery = answering()
    assert delivery.begin(1.0)
    delivery.sent(1.0)
    assert not delivery.begin(1.1)
    delivery.sent(1.1)
    delivery.answered(1.2)
    delivery.answered(1.6)
    before = delivery.pace
    assert delivery.wait_s(2.5, None) > 0
    delivery.answered(2.6)
    assert delivery.pace == before
    assert delivery.wait_s(3.1, None) == 0.0


def test_lost_answers_are_given_up_and_a_late_one_does_no_harm() -> None:
    delivery = answering()
    delivery.begin(1.0)
    delivery.sent(1.0)
    assert delivery.wait_s(11.5, None) == 0.0
    assert delivery.last_answer_s() == 0.0
    delivery.answered(12.0)
    assert delivery.wait_s(12.0, None) == 0.0
