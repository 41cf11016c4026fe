"""Procedure P: is B faster than A, from a few launches of each in wall order.

What varies is the launch (allocator layout, page cache, clocks, neighbours), not the step: two launches
differ by more than their steps would ever tell. So launches are the units of a small weighted regression with
a drift from launch to launch, and with a launch noise tau that the ledger's own repeats teach (`noise.py`).
Pure.

A launch whose standard error is above 2 % is no ground for a verdict. One exception, the *obvious win*: four
launches A B B A on a host where nobody else computes, in which every B beats every A by 15 % and by four
standard errors of their difference, and whose interval is above zero all the same. By the simulation in
`benchmarks/obvious_win.py`: OBVIOUS_WIN_FIGURES.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from perftui.trainer.tuning.student import t_quantile

Label: TypeAlias = Literal["A", "B"]
DecisionWord: TypeAlias = Literal["faster", "slower", "same", "inconclusive", "too_noisy", "repeats_disagree"]

ALPHA = 0.02
"""Of one look; the whole procedure of up to three looks keeps below 5 %."""
SAME_WITHIN = 0.02
SE_LIMIT = 0.02
DRIFT_SD = 0.01
"""Prior of the drift from one launch to the next, in log units."""
_DRIFT_DF = 30.0
_REPEATS_LIMIT_SD = 2.5
_LAUNCHES_WITH_REPEATS_CHECK = 4
_OBVIOUS_LAUNCHES = 4
_OBVIOUS_GAIN = 0.15
_OBVIOUS_SE = 4.0
_ROUNDS = 3


@dataclass(frozen=True)
class Noise:
    """What is known of the noise between launches of one setting on this host."""

    tau0: float = 0.01
    """Standard deviation between launches, in log units."""
    nu0: float = 4.0
    """Degrees of freedom that this knowledge is worth."""


DEFAULT_NOISE = Noise()


@dataclass(frozen=True)
class Point:
    """One launch as the procedure sees it."""

    label: Label
    log_step_s: float
    se: float
    df: float


@dataclass(frozen=True)
class Effect:
    """How much faster B is, as a log speed-up with its interval: 0.05 is about 5 % less time per step."""

    log_gain: float
    lo: float
    hi: float


@dataclass(frozen=True)
class Decision:
    """What the launches so far say."""

    word: DecisionWord
    effect: Effect
    obvious: bool = False
    """True when it was decided by the exception for obvious wins."""
    disagreement: float | None = None
    """For `repeats_disagree`: by how much two launches of one setting differ, in log units."""


def compare(points: Sequence[Point], noise: Noise = DEFAULT_NOISE, alpha: float = ALPHA) -> Effect:
    """Estimate the log speed-up of B over A from launches in wall order, with its 1 - alpha interval."""
    rows = _design(points)
    spare_df = max(0, len(points) - 3)
    variance = noise.tau0**2
    for round_ in range(_ROUNDS):
        weights = [1 / (point.se**2 + variance) for point in points]
        normal = _normal_matrix(rows, weights)
        fitted = _solve(normal, _moments(rows, weights, points))
        if round_ < _ROUNDS - 1 and spare_df:
            variance = _launch_variance(points, rows, fitted, noise, spare_df)
    direction = _solve(normal, [0.0, 1.0, 0.0])
    pulls = [weight * _dot(row, direction) for weight, row in zip(weights, rows, strict=True)]
    half = _half_width(points, rows, pulls, variance, noise.nu0 + spare_df, alpha)
    gain = -fitted[1]
    return Effect(gain, gain - half, gain + half)


def _design(points: Sequence[Point]) -> list[list[float]]:
    """Columns: level, B or not, place in time around the middle."""
    middle = (len(points) - 1) / 2
    return [[1.0, float(point.label == "B"), place - middle] for place, point in enumerate(points)]


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


def _normal_matrix(rows: Sequence[Sequence[float]], weights: Sequence[float]) -> list[list[float]]:
    matrix = [
        [sum(w * row[i] * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(3)]
        for i in range(3)
    ]
    matrix[2][2] += 1 / DRIFT_SD**2
    return matrix


def _moments(
    rows: Sequence[Sequence[float]], weights: Sequence[float], points: Sequence[Point]
) -> list[float]:
    return [
        sum(w * row[i] * point.log_step_s for w, row, point in zip(weights, rows, points, strict=True))
        for i in range(3)
    ]


def _launch_variance(
    points: Sequence[Point],
    rows: Sequence[Sequence[float]],
    fitted: Sequence[float],
    noise: Noise,
    spare_df: int,
) -> float:
    """Blend what was known of tau with what these launches show beyond their own standard errors."""
    residuals = sum(
        (point.log_step_s - _dot(row, fitted)) ** 2 for point, row in zip(points, rows, strict=True)
    )
    within = spare_df * sum(point.se**2 for point in points) / len(points)
    return (noise.nu0 * noise.tau0**2 + max(0.0, residuals - within)) / (noise.nu0 + spare_df)


def _half_width(
    points: Sequence[Point],
    rows: Sequence[Sequence[float]],
    pulls: Sequence[float],
    launch_variance: float,
    launch_df: float,
    alpha: float,
) -> float:
    """Half the interval: three sources of variance, their degrees of freedom joined by Satterthwaite."""
    between = launch_variance * sum(pull * pull for pull in pulls)
    within = [(pull * point.se) ** 2 for pull, point in zip(pulls, points, strict=True)]
    drift = (_dot(pulls, [row[2] for row in rows]) * DRIFT_SD) ** 2
    variance = between + sum(within) + drift
    spread = between**2 / launch_df + drift**2 / _DRIFT_DF
    spread += sum(part * part / point.df for part, point in zip(within, points, strict=True))
    return t_quantile(1 - alpha / 2, variance**2 / spread) * math.sqrt(variance)


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a small linear system by Gauss-Jordan elimination with pivoting."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda index: abs(rows[index][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for index in range(size):
            if index != column:
                factor = rows[index][column] / rows[column][column]
                rows[index] = [a - factor * b for a, b in zip(rows[index], rows[column], strict=True)]
    return [rows[index][size] / rows[index][index] for index in range(size)]


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
        if uncontended and effect.lo > 0 and obvious_so_far(points) and _is_abba(points):
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


def obvious_so_far(points: Sequence[Point]) -> bool:
    """Whether every B beats every A by 15 % of its time and by four standard errors of the difference."""
    before = [point for point in points if point.label == "A"]
    after = [point for point in points if point.label == "B"]
    return all(
        a.log_step_s - b.log_step_s > max(math.log1p(_OBVIOUS_GAIN), _OBVIOUS_SE * math.hypot(a.se, b.se))
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
