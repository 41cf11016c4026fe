"""How small a gain can be and still be told from nothing here. Pure.

A change whose bound lies below it is not worth a trial: whatever came out, no verdict could say so.
"""

import math

from perftui.ipc.ledger_records import Launch
from perftui.trainer.tuning.regression import Label, Noise, Point, compare
from perftui.trainer.tuning.verdict import OBVIOUS_GAIN, OBVIOUS_SE, SE_LIMIT, visible_log_gain

_ABBA: tuple[Label, ...] = ("A", "B", "B", "A")


def is_noisy(launch: Launch) -> bool:
    """Tell whether a launch is no ground for a verdict, but for an obvious win."""
    return launch.log_step_s is None or not launch.settled or launch.se is None or launch.se > SE_LIMIT


def smallest_visible(launch: Launch, noise: Noise) -> float:
    """Return the smallest speed-up, as a factor, that four launches like this one would show.

    On a quiet host whose steps are noisy only an obvious win can be seen (`verdict`): 15 %, and four standard
    errors of the difference.
    """
    se = launch.se if launch.se is not None else SE_LIMIT
    if is_noisy(launch):
        return math.exp(max(math.log1p(OBVIOUS_GAIN), OBVIOUS_SE * math.sqrt(2) * se))
    points = [Point(label, 0.0, se, launch.df or 1.0) for label in _ABBA]
    return math.exp(visible_log_gain(compare(points, noise)))
