"""The regression behind the verdict: how much faster B is, from a few launches in wall order. Pure.

What varies is the launch (allocator layout, page cache, clocks, neighbours), not the step: two launches
differ by more than their steps would ever tell. So launches are the units of a small weighted regression with
a drift from launch to launch, and with a launch noise tau that the ledger's own repeats teach (`noise.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.trainer.tuning.student import t_quantile

Label: TypeAlias = Literal["A", "B"]

ALPHA = 0.02
"""Of one look; the whole procedure of up to three looks keeps below 5 %."""
DRIFT_SD = 0.01
"""Prior of the drift from one launch to the next, in log units."""
_DRIFT_DF = 30.0
_ROUNDS = 3


@dataclass(frozen=True)
class Noise:
    """What is known of the noise between launches of one setting on this host."""

    tau0: float = 0.01
    """Standard deviation between launches, in log units."""
    nu0: float = 4.0
    """Degrees of freedom that this knowledge is worth."""
    foreign_cores: float = 0.0
    """Cores kept busy by others during at least half of the launches that taught it."""
    steady_past: bool = False
    """The run that is to be relaunched was watched long enough, and its host had one speed."""


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
