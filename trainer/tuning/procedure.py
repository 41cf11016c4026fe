"""The order of launches and the looks between them: A B, then B, then A, and on request four more. Pure."""

from collections.abc import Sequence

from perftui.trainer.tuning.regression import Label, Noise, Point
from perftui.trainer.tuning.verdict import DECIDED, Decision, decide, obvious_so_far, overwhelming

ORDER: tuple[Label, ...] = ("A", "B", "B", "A", "A", "B", "B", "A")
_LOOKS = (2, 3, 4, 6, 8)


def next_label(
    points: Sequence[Point],
    noise: Noise,
    *,
    most_launches: int = 4,
    uncontended: bool = False,
    untold: bool = False,
) -> Label | None:
    """Return which setting to launch next, or None when the launches so far end the comparison.

    Args:
        points: launches so far, in the order of `ORDER`.
        noise: what is known of this host.
        most_launches: 4, or up to 8 on request.
        uncontended: True when nobody else has computed on the host during any launch.
        untold: True while neither the host nor these launches tell what launches differ by: then a gain or
            loss that is sure but may be less than half of what it seems goes on.
    """
    done = len(points)
    if done >= min(most_launches, len(ORDER)):
        return None
    if done in _LOOKS:
        decision = decide(points, noise, uncontended=uncontended)
        if _is_final(decision, points, uncontended) and not (untold and _is_vague(decision, points)):
            return None
    return ORDER[done]


def _is_vague(decision: Decision, points: Sequence[Point]) -> bool:
    """Whether a gain or loss may be less than half of what it seems, and is not overwhelming."""
    effect, word = decision.effect, decision.word
    if word not in ("faster", "slower") or overwhelming(points):
        return False
    return 2 * (effect.lo if word == "faster" else -effect.hi) < abs(effect.log_gain)


def _is_final(decision: Decision, points: Sequence[Point], uncontended: bool) -> bool:
    """More launches do not help a noisy pair, unless it looks like an obvious win, which takes four."""
    if decision.word == "too_noisy":
        return not (uncontended and obvious_so_far(points))
    return decision.word in DECIDED
