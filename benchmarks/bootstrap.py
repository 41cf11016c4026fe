"""How sure a median is: the percentile bootstrap (Efron 1979), with the same random draws each time."""

import random
from collections.abc import Sequence
from statistics import median

RESAMPLES = 10_000
CONFIDENCE = 0.95


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median of some values (at least one)."""
    source = random.Random(0)
    medians = sorted(median(source.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    return medians[int(tail * RESAMPLES)], medians[int((1 - tail) * RESAMPLES) - 1]
