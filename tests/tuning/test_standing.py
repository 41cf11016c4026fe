"""How far a launch is, how long it may go on, and why it does."""

import msgspec
import pytest

from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.standing import Moment, going_words, limit_s, seconds_left, standing, steps_left
from tests.tuning.made_assessment import assessment

CAPS = Caps(wall_seconds=240.0)


def moment(
    se: float | None = 0.03,
    steady: int = 100,
    warm: int = 10,
    *,
    elapsed_s: float = 130.0,
    first_step_s: float | None = 10.0,
    step_s: float | None = 0.4,
    goal: float = 0.007,
    settled: bool = True,
) -> Moment:
    steps = steady + warm if first_step_s is not None else 0
    used_s = steps * (step_s or 0.0)
    found = assessment(se, steady, warm, settled=settled)
    return Moment(steps, step_s, used_s, 10, found, goal, elapsed_s, first_step_s)


def test_a_launch_ends_at_the_earliest_of_its_limits() -> None:
    assert limit_s(moment(), CAPS) == 240.0
    assert limit_s(moment(first_step_s=None), CAPS) == 240.0
    assert limit_s(moment(), Caps()) == 610.0
    assert limit_s(moment(first_step_s=None), Caps()) is None
    assert limit_s(moment(), Caps(wall_seconds=700.0)) == 610.0
    assert steps_left(moment(), CAPS) == pytest.approx(110 / 0.4)
    assert steps_left(moment(), msgspec.structs.replace(CAPS, steps=200)) == 90.0
    assert steps_left(moment(), msgspec.structs.replace(CAPS, usual_seconds=50.0)) == pytest.approx(6 / 0.4)


def test_what_is_left_is_what_precision_takes_and_never_more_than_the_limits_leave() -> None:
    assert seconds_left(moment(0.03, goal=0.015), CAPS) == pytest.approx(110.0)
    assert seconds_left(moment(0.016, goal=0.015), CAPS) == pytest.approx(100 * 0.4 * ((16 / 15) ** 2 - 1))
    assert seconds_left(moment(0.005), CAPS) == 0.0
    assert seconds_left(moment(first_step_s=None, step_s=None, elapsed_s=8.0), CAPS) == 232.0
    assert seconds_left(moment(first_step_s=None, step_s=None), Caps()) is None
    fresh = moment(0.014, 60, elapsed_s=30.0)
    assert seconds_left(fresh, CAPS) == pytest.approx(40.0)  # after a minute 1.5 % is enough


def test_the_bar_fills_with_what_is_left() -> None:
    shares = [standing(moment(0.12, elapsed_s=at), CAPS).share for at in (60.0, 120.0, 180.0, 240.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert standing(moment(0.005), CAPS).share == pytest.approx(1.0)
    assert standing(moment(None, 0, 0, elapsed_s=3.0, first_step_s=None, step_s=None), Caps()).share == 0.0


@pytest.mark.parametrize(
    ("now", "stage", "why"),
    [
        (moment(None, 0, 0, first_step_s=None, step_s=None), "starting", None),
        (moment(None, 10, 10), "warming", None),
        (moment(None, 50, 55), "measuring", "50 of 60 steady steps"),
        (
            moment(0.04, goal=0.015),
            "measuring",
            "steps wander by 13 %: more of them are needed (known to 4.0 %, 1.5 % is enough)",
        ),
        (
            moment(0.005, settled=False),
            "measuring",
            "the step time still changes: it is measured until it no longer does",
        ),
        (moment(0.005), "measuring", None),
    ],
)
def test_a_launch_says_why_it_goes_on_and_warms_up_only_while_it_does(
    now: Moment, stage: str, why: str | None
) -> None:
    stands = standing(now, CAPS)
    assert (stands.stage, stands.why) == (stage, why)


def test_a_line_says_it_all() -> None:
    assert going_words(standing(moment(0.04, goal=0.015), CAPS)) == (
        "measuring, 110 steps, 400 ms a step · 2:10 of at most 4:00 · steps wander by 13 %: more of them are "
        "needed (known to 4.0 %, 1.5 % is enough)"
    )
