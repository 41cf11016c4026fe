"""Procedure P: is B faster than A? A verdict from launches, or the reason why there is none. Pure.

A launch whose standard error is above 2 % is no ground for a verdict. One exception, the *obvious win*: four
launches A B B A on a host where nobody else computes, in which every B beats every A by 15 % and by four
standard errors of their difference, and whose interval is above zero all the same; or two launches, of which
B is 2.5 times as fast as A, by eight such errors. By the simulation in
`benchmarks/obvious_win.py` (steps of 30 and 60 % standard deviation, nothing known of the host, 1,000
comparisons a row) identical settings are then called faster in at most 0.1 % of comparisons where launches
differ by 2 to 10 %, in up to 2.4 % where they differ by 20 %, and in up to 14 % where they differ by 49 %,
as on a host that others load: hence its condition. Of halved step times it finds 12 to 100 %; the rest is
refused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from perftui.trainer.tuning.regression import (
    ALPHA,
    DEFAULT_NOISE,
    DRIFT_SD,
    Effect,
    Noise,
    Point,
    compare,
)

DecisionWord: TypeAlias = Literal["faster", "slower", "same", "inconclusive", "too_noisy", "repeats_disagree"]

DECIDED = frozenset({"faster", "slower", "same"})
"""Words that leave no question open."""
SAME_WITHIN = 0.02
SE_LIMIT = 0.02
_REPEATS_LIMIT_SD = 2.5
_LAUNCHES_WITH_REPEATS_CHECK = 4
_OBVIOUS_LAUNCHES = 4
OBVIOUS_GAIN = 0.15
OBVIOUS_SE = 4.0
_POWER_OF_INTERVAL = 1.3
"""Half intervals of an effect that is seen four times out of five (research: t.99 + 0.85)."""
_OVERWHELMING_FACTOR = 2.5
_OVERWHELMING_SE = 8.0


@dataclass(frozen=True)
class Decision:
    """What the launches so far say."""

    word: DecisionWord
    effect: Effect
    obvious: bool = False
    """True when it was decided by the exception for obvious wins."""
    disagreement: float | None = None
    """For `repeats_disagree`: by how much two launches of one setting differ, in log units."""


def decide(
    points: Sequence[Point],
    noise: Noise = DEFAULT_NOISE,
    *,
    uncontended: bool = False,
    alpha: float = ALPHA,
) -> Decision:
    """Judge launches in wall order, at least one of each setting.

    Args:
        points: the launches.
        noise: what the ledger knows of this host.
        uncontended: True when it was measured that nobody else computed on the host during any launch; only
            then may an obvious win pass the gate.
        alpha: error rate of this look.

    Raises:
        ValueError: a setting was never launched.
    """
    if {point.label for point in points} != {"A", "B"}:
        raise ValueError("at least one launch of each setting is needed")
    effect = compare(points, noise, alpha)
    if max(point.se for point in points) > SE_LIMIT:
        obvious = overwhelming(points) or (obvious_so_far(points) and _is_abba(points))
        if uncontended and effect.lo > 0 and obvious:
            return Decision("faster", effect, obvious=True)
        return Decision("too_noisy", effect)
    word = _word(effect)
    if word != "inconclusive" and len(points) <= _LAUNCHES_WITH_REPEATS_CHECK:
        disagreement = _repeats_disagree(points, noise)
        if disagreement is not None:
            return Decision("repeats_disagree", effect, disagreement=disagreement)
    return Decision(word, effect)


def _word(effect: Effect) -> DecisionWord:
    if effect.lo > 0:
        return "faster"
    if effect.hi < 0:
        return "slower"
    if effect.lo > -SAME_WITHIN and effect.hi < SAME_WITHIN:
        return "same"
    return "inconclusive"


def visible_log_gain(effect: Effect) -> float:
    """Return the log gain that would show four times out of five where this effect was measured."""
    return _POWER_OF_INTERVAL * (effect.hi - effect.lo) / 2


def obvious_so_far(points: Sequence[Point]) -> bool:
    """Whether every B beats every A by 15 % of its time and by four standard errors of the difference."""
    return _each_beats_each(points, 1 + OBVIOUS_GAIN, OBVIOUS_SE)


def overwhelming(points: Sequence[Point]) -> bool:
    """Whether every B is 2.5 times as fast as every A, by eight standard errors."""
    return _each_beats_each(points, _OVERWHELMING_FACTOR, _OVERWHELMING_SE)


def _each_beats_each(points: Sequence[Point], factor: float, errors: float) -> bool:
    before = [point for point in points if point.label == "A"]
    after = [point for point in points if point.label == "B"]
    return all(
        a.log_step_s - b.log_step_s > max(math.log(factor), errors * math.hypot(a.se, b.se))
        for a in before
        for b in after
    )


def _is_abba(points: Sequence[Point]) -> bool:
    return len(points) >= _OBVIOUS_LAUNCHES and [point.label for point in points[:4]] == ["A", "B", "B", "A"]


def _repeats_disagree(points: Sequence[Point], noise: Noise) -> float | None:
    """Return by how much neighbouring launches of one setting differ, when that is more than noise allows."""
    for label in ("A", "B"):
        places = [place for place, point in enumerate(points) if point.label == label]
        for first, second in pairwise(places):
            a, b = points[first], points[second]
            drift = (second - first) * DRIFT_SD
            allowed = math.sqrt(2 * noise.tau0**2 + a.se**2 + b.se**2 + drift**2)
            difference = abs(a.log_step_s - b.log_step_s)
            if difference > _REPEATS_LIMIT_SD * allowed:
                return difference
    return None
