"""The order of launches and the looks between them: A B, then B, then A, and on request four more. Pure."""

from collections.abc import Sequence

from perftui.trainer.tuning.regression import Label, Noise, Point
from perftui.trainer.tuning.verdict import DECIDED, Decision, decide, obvious_so_far

ORDER: tuple[Label, ...] = ("A", "B", "B", "A", "A", "B", "B", "A")
_LOOKS = (2, 3, 4, 6, 8)


def next_label(
    points: Sequence[Point], noise: Noise, *, most_launches: int = 4, uncontended: bool = False
) -> Label | None:
    """Return which setting to launch next, or None when the launches so far end the comparison.

    Args:
        points: launches so far, in the order of `ORDER`.
        noise: what is known of this host.
        most_launches: 4, or up to 8 on request.
        uncontended: True when nobody else has computed on the host during any launch.
    """
    done = len(points)
    if done >= min(most_launches, len(ORDER)):
        return None
    if done in _LOOKS and _is_final(decide(points, noise, uncontended=uncontended), points, uncontended):
        return None
    return ORDER[done]


def _is_final(decision: Decision, points: Sequence[Point], uncontended: bool) -> bool:
    """More launches do not help a noisy pair, unless it looks like an obvious win, which takes four."""
    if decision.word == "too_noisy":
        return not (uncontended and obvious_so_far(points))
    return decision.word in DECIDED
