"""Whether a change leaves the training's loss alone: the same seed, the same steps, the same curve. Pure.

Launches of one setting differ too: kernels add in another order, and the curves part. So B's curve is held
against the spread of A's own launches, where there are two of them; else against the scatter of A's loss from
one sample to the next, which is wider. Means over the later half of the common steps are compared: a broken
training lies apart on the whole, single steps mean nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Curve: TypeAlias = Mapping[int, float]
"""Loss by step."""

_FEWEST_STEPS = 4
_SPREADS = 3.0
_SHARE_OF_SCATTER = 0.5
"""Launches of A may agree to the last bit where those of B cannot: rounding grows, up to a part of what other
batches would bring."""
_RELATIVE_FLOOR = 0.005
"""Of the loss: what half precision alone may move a curve by."""
_SHARE_OF_FALL = 0.001
"""Of what the loss has fallen by: once a training knows its data by heart, losses differ by large factors and
mean nothing."""


@dataclass(frozen=True)
class LossCheck:
    """How the losses of A and B compare."""

    words: str
    agrees: bool | None
    """None: not to be told."""


NOT_COMPARABLE = LossCheck("loss: not comparable", None)


def check_losses(before: Sequence[Curve], after: Sequence[Curve]) -> LossCheck:
    """Compare the losses of launches of A with those of B, all with one seed.

    Args:
        before: curves of A's launches.
        after: curves of B's.
    """
    first, second = [each for each in before if each], [each for each in after if each]
    common = set.intersection(*(set(each) for each in (*first, *second))) if first and second else set[int]()
    if not common:
        return NOT_COMPARABLE
    steps = sorted(common)
    told = f"loss at step {steps[-1]}: {first[0][steps[-1]]:.4g} before, {second[0][steps[-1]]:.4g} after"
    if not _finite(first, steps):
        return LossCheck(told, None)
    if not _finite(second, steps):
        return LossCheck(f"{told}; with the change it is no number any more", False)
    if len(steps) < _FEWEST_STEPS:
        return LossCheck(told, None)
    return _held_against(first, second, steps, told)


def _held_against(
    first: Sequence[Curve], second: Sequence[Curve], steps: Sequence[int], told: str
) -> LossCheck:
    later = steps[len(steps) // 2 :]
    apart = _mean_of(second, later) - _mean_of(first, later)
    scatter = _scatter(first[0], later)
    of_what = "its own scatter from sample to sample"
    allowed = scatter
    if len(first) > 1:
        of_what = "what launches of the settings in force differ by"
        allowed = max(_SPREADS * _spread(first, later), _SHARE_OF_SCATTER * scatter)
    reached = _mean_of(first, later)
    fallen = abs(_mean_of(first, steps[:1]) - reached)
    allowed = max(allowed, _RELATIVE_FLOOR * abs(reached), _SHARE_OF_FALL * fallen)
    if abs(apart) <= allowed:
        return LossCheck(f"{told}; within {of_what}", True)
    beyond = f"over the last {len(later)} samples it is {apart:+.3g}, beyond {of_what} ({allowed:.2g})"
    return LossCheck(f"{told}; {beyond}", False)


def _finite(curves: Sequence[Curve], steps: Sequence[int]) -> bool:
    return all(math.isfinite(curve[step]) for curve in curves for step in steps)


def _mean_of(curves: Sequence[Curve], steps: Sequence[int]) -> float:
    return sum(curve[step] for curve in curves for step in steps) / (len(curves) * len(steps))


def _spread(curves: Sequence[Curve], steps: Sequence[int]) -> float:
    """Return the root mean square of what neighbouring launches differ by, step by step."""
    squares = [(a[step] - b[step]) ** 2 for a, b in pairwise(curves) for step in steps]
    return math.sqrt(sum(squares) / len(squares))


def _scatter(curve: Curve, steps: Sequence[int]) -> float:
    """Return the standard deviation around the trend, from differences of neighbours."""
    squares = [(curve[b] - curve[a]) ** 2 for a, b in pairwise(steps)]
    return math.sqrt(sum(squares) / len(squares) / 2) if squares else 0.0
