"""Differences to the plain process of the same round, with an interval that says how sure they are."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """Median of the differences within rounds; `lo` and `hi` bound it with 95 % confidence.

    `spread` is the distance from the first to the third quartile of the plain processes: what the host does
    by itself.
    """

    rounds: int
    plain: float
    added: float
    lo: float
    hi: float
    spread: float

    @property
    def seen(self) -> bool:
        """Whether the interval leaves zero out."""
        return not self.lo <= 0 <= self.hi


def difference(plain: Sequence[float], other: Sequence[float]) -> Difference:
    """Compare two series, the same index being the same round; percentile bootstrap over rounds.

    Raises:
        ValueError: the series are empty or not of one length.
    """
    if not plain or len(plain) != len(other):
        raise ValueError(f"{len(plain)} and {len(other)} rounds cannot be paired")
    added = [after - before for before, after in zip(plain, other, strict=True)]
    source = random.Random(0)
    medians = sorted(median(source.choices(added, k=len(added))) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    return Difference(
        rounds=len(added),
        plain=median(plain),
        added=median(added),
        lo=medians[int(tail * RESAMPLES)],
        hi=medians[int((1 - tail) * RESAMPLES) - 1],
        spread=_quartile(plain, 3) - _quartile(plain, 1),
    )


def _quartile(values: Sequence[float], which: int) -> float:
    """Return a quartile by linear interpolation."""
    ordered = sorted(values)
    place = which / 4 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
