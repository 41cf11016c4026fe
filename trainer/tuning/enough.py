"""When a launch has been measured long enough: settled, and precise against what launches differ by. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.steady import FEWEST_BLOCKS, LaunchEstimate, estimate_launch, find_warm_up

_SE_FLOOR = 0.003
_SE_OF_NOISE = 0.7
_SE_OF_EXPECTED = 0.05
SE_CEILING = 0.015
"""The standard error at which a launch may end, however much was promised: below the limit of a verdict."""
_LEFT_OUT_SHARE = 0.05
_OVERWHELMING = 3.0
_SE_OF_OVERWHELMED = 0.04


def usual_seconds(steps_s: Sequence[float]) -> float:
    """Return the seconds that steps took together, the longest twentieth left out.

    A checkpoint or a validation may lie within a step: how often one falls into a launch is chance.

    Args:
        steps_s: seconds per step, those left out that compiled.
    """
    kept = len(steps_s) - math.ceil(_LEFT_OUT_SHARE * len(steps_s))
    return sum(sorted(steps_s)[:kept])


@dataclass(frozen=True)
class Assessment:
    """What the steps of a launch so far amount to."""

    enough: bool
    """The standard error is small against what launches differ by anyway."""
    settled: bool
    warm_steps: int
    steady_steps: int
    estimate: LaunchEstimate | None
    """None while there are too few steady steps."""


def wanted_se(tau0: float, expected: float | None = None) -> float:
    """Return the standard error at which a launch has been measured well enough, in log units.

    Below what launches differ by anyway it tells nothing; and a change that promises to halve the step needs
    no per mille. What is promised is known before the change is measured, so this is no peeking. However much
    launches differ, each is to be a ground for a verdict.

    Args:
        tau0: launch noise of this host, in log units.
        expected: speed-up that the change promises, as a factor; None for nothing.
    """
    promised = _SE_OF_EXPECTED * math.log(max(expected or 1.0, 1.0))
    return max(_SE_FLOOR, min(max(_SE_OF_NOISE * tau0, promised), SE_CEILING))


def sufficient_se(expected: float | None) -> float | None:
    """Return the standard error that suffices for a side that will be given up, in log units; None: no other.

    A change that promises three times the speed shows against an original known to 4 %: 2.5 times are
    sixteen errors of a difference. What stays is measured better: the next change is held against it.

    Args:
        expected: speed-up that the change promises, as a factor; None for nothing.
    """
    return _SE_OF_OVERWHELMED if expected is not None and expected >= _OVERWHELMING else None


def assess(steps_s: Sequence[float], block: int, se_wanted: float, caps: Caps) -> Assessment:
    """Assess the steps of one launch.

    Args:
        steps_s: seconds per step from the first step on, unusual ones left out.
        block: steps of a block.
        se_wanted: the standard error at which it is enough (`wanted_se`).
        caps: for the fewest steady steps.
    """
    warm = find_warm_up(steps_s, block)
    steady = steps_s[warm.first_step :]
    if len(steady) < max(caps.fewest_steps, FEWEST_BLOCKS * block):
        return Assessment(False, warm.settled, warm.first_step, len(steady), None)
    estimate = estimate_launch(steady, block)
    return Assessment(
        estimate.se <= se_wanted and warm.settled, warm.settled, warm.first_step, len(steady), estimate
    )
