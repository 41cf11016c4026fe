"""What precision a launch can still reach, and whether a verdict can come of it at all. Pure.

A launch known to worse than the limit of a verdict is good for one thing only, an obvious win (`verdict`),
and that only on a host where nobody else computes. Where neither can be had, going on only costs time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perftui.trainer.tuning.enough import Assessment
from perftui.trainer.tuning.explained import is_loaded
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.regression import Point
from perftui.trainer.tuning.verdict import OBVIOUS_GAIN, OBVIOUS_SE, SE_LIMIT

_OUT_OF_REACH = 2.0
"""Limits of a verdict. A standard error of six to a dozen blocks is itself known to a third only, and a host
may calm down."""


@dataclass(frozen=True)
class Prospect:
    """What a comparison may find at best."""

    cpus: float
    """Effective cores of the host."""
    bound: float | None = None
    """The largest speed-up that the change can bring, as a factor; None: not known."""


def obvious_win_is_possible(se: float, prospect: Prospect, *, uncontended: bool) -> bool:
    """Tell whether a launch of the original known to `se` may be beaten so clearly that it shows even so.

    Args:
        se: of the original, in log units; the change is taken to be known without any error.
        prospect: what the change can bring.
        uncontended: nobody else computes on the host, and that was measured.
    """
    if not uncontended:
        return False
    needed = max(math.log1p(OBVIOUS_GAIN), OBVIOUS_SE * se)
    return prospect.bound is None or math.log(max(prospect.bound, 1.0)) > needed


def is_lost_from_the_start(points: Sequence[Point], prospect: Prospect, *, uncontended: bool) -> bool:
    """Tell after the first launch of a comparison that no verdict can come of it, whatever the others say.

    Args:
        points: launches so far; only one alone is judged here.
        prospect: what the change can bring.
        uncontended: nobody else computed on the host during it.
    """
    if len(points) != 1 or points[0].se <= SE_LIMIT:
        return False
    return not obvious_win_is_possible(points[0].se, prospect, uncontended=uncontended)


def steps_lacking(found: Assessment, se_goal: float, fewest_steps: int) -> float:
    """Return about how many more steps it takes to know a launch to `se_goal`, as its steps have come so far.

    Args:
        found: what its steps amount to.
        se_goal: in log units.
        fewest_steps: steady ones that are needed at least.
    """
    if found.estimate is None:
        return float(max(0, fewest_steps - found.steady_steps))
    lacking = found.steady_steps * ((found.estimate.se / se_goal) ** 2 - 1)
    unsettled = 0 if found.settled else 2 * found.warm_steps - found.steady_steps
    return max(lacking, unsettled, 0.0)


def is_out_of_reach(
    found: Assessment,
    since_s: float,
    steps_left: float,
    caps: Caps,
    prospect: Prospect,
    foreign_cores: float | None,
) -> bool:
    """Tell that a launch that goes on to its limit would be no ground for a verdict, nor for an obvious win.

    Asked only once a launch has had ample time: what its first seconds wandered by says little.

    Args:
        found: what its steps amount to.
        since_s: seconds since its first step.
        steps_left: about how many more there is time for.
        caps: for the ample time.
        prospect: what the comparison may find.
        foreign_cores: busy with other work meanwhile; None: not measured.
    """
    if found.estimate is None or since_s < caps.ample_seconds:
        return False
    share = found.steady_steps / (found.steady_steps + max(0.0, steps_left))
    reached = found.estimate.se * math.sqrt(share)
    if reached <= _OUT_OF_REACH * SE_LIMIT:
        return False
    calm = foreign_cores is not None and not is_loaded(foreign_cores, prospect.cpus)
    return not obvious_win_is_possible(reached, prospect, uncontended=calm)
