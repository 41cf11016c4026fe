"""When a launch has been measured long enough: settled, and precise against what launches differ by. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.steady import FEWEST_BLOCKS, LaunchEstimate, estimate_launch, find_warm_up

_SE_FLOOR = 0.003
_SE_OF_NOISE = 0.7


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


def assess(steps_s: Sequence[float], block: int, tau0: float, caps: Caps) -> Assessment:
    """Assess the steps of one launch.

    Args:
        steps_s: seconds per step from the first step on, unusual ones left out.
        block: steps of a block.
        tau0: launch noise of this host, in log units.
        caps: for the fewest steady steps.
    """
    warm = find_warm_up(steps_s, block)
    steady = steps_s[warm.first_step :]
    if len(steady) < max(caps.fewest_steps, FEWEST_BLOCKS * block):
        return Assessment(False, warm.settled, warm.first_step, len(steady), None)
    estimate = estimate_launch(steady, block)
    precise = estimate.se <= max(_SE_FLOOR, _SE_OF_NOISE * tau0)
    return Assessment(precise and warm.settled, warm.settled, warm.first_step, len(steady), estimate)
