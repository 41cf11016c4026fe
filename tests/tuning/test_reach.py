"""Whether a verdict can still come of a launch, told before the time for it is spent."""

import pytest

from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import (
    Prospect,
    is_lost_from_the_start,
    is_out_of_reach,
    obvious_win_is_possible,
    steps_lacking,
)
from perftui.trainer.tuning.regression import Point
from tests.tuning.made_assessment import assessment

CAPS = Caps()


@pytest.mark.parametrize(
    ("se", "bound", "uncontended", "possible"),
    [
        (0.05, None, True, True),
        (0.05, None, False, False),
        (0.05, 1.2, True, False),  # four standard errors are 22 %
        (0.05, 1.25, True, True),
        (0.021, 1.14, True, False),  # 15 % in any case
        (0.021, 1.16, True, True),
        (0.15, 1.8, True, False),
        (0.15, 3.0, True, True),
    ],
)
def test_an_obvious_win_needs_a_quiet_host_and_a_change_that_may_bring_it(
    se: float, bound: float | None, uncontended: bool, possible: bool
) -> None:
    assert obvious_win_is_possible(se, Prospect(2.0, bound), uncontended=uncontended) is possible


@pytest.mark.parametrize(
    ("ses", "uncontended", "lost"),
    [
        ([0.019], False, False),
        ([0.021], False, True),
        ([0.15], False, True),
        ([0.15], True, False),
        ([0.15, 0.15], False, False),  # from two on the procedure itself says so
        ([], False, False),
    ],
)
def test_one_launch_may_tell_that_nothing_comes_of_the_others(
    ses: list[float], uncontended: bool, lost: bool
) -> None:
    points = [Point("A", 0.0, se, 5.0) for se in ses]
    assert is_lost_from_the_start(points, Prospect(2.0), uncontended=uncontended) is lost


@pytest.mark.parametrize(
    ("se", "since_s", "steps_left", "foreign", "bound", "lost"),
    [
        (0.12, 61.0, 300.0, 1.0, None, True),
        (0.12, 59.0, 300.0, 1.0, None, False),  # its first minute says little
        (0.07, 61.0, 300.0, 1.0, None, False),  # 3.5 % after four times the steps: a host may calm down
        (0.09, 61.0, 300.0, 1.0, None, True),
        (0.07, 61.0, 0.0, 1.0, None, True),
        (0.12, 61.0, 300.0, None, None, True),  # nobody knows of others: no obvious win either
        (0.12, 61.0, 300.0, 0.1, None, False),  # a quiet host: an obvious win may show
        (0.12, 61.0, 300.0, 0.1, 1.2, True),
        (0.12, 61.0, 300.0, 0.1, 2.0, False),
        (None, 500.0, 0.0, 1.0, None, False),
    ],
)
def test_a_launch_goes_on_only_while_something_may_come_of_it(
    se: float | None,
    since_s: float,
    steps_left: float,
    foreign: float | None,
    bound: float | None,
    lost: bool,
) -> None:
    found = assessment(se)
    assert is_out_of_reach(found, since_s, steps_left, CAPS, Prospect(2.0, bound), foreign) is lost


def test_steps_lacking_grow_with_the_square_of_what_is_lacking() -> None:
    assert steps_lacking(assessment(0.03), 0.015, 60) == pytest.approx(300.0)
    assert steps_lacking(assessment(0.01), 0.015, 60) == 0.0
    assert steps_lacking(assessment(None, 25), 0.015, 60) == 35.0
    assert steps_lacking(assessment(0.01, 60, 60, settled=False), 0.015, 60) == 60.0
