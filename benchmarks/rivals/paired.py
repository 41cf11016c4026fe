"""Differences to the plain process of the same round, with an interval that says how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.bootstrap import median_interval


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
    lo, hi = median_interval(added)
    return Difference(
        rounds=len(added),
        plain=median(plain),
        added=median(added),
        lo=lo,
        hi=hi,
        spread=_quartile(plain, 3) - _quartile(plain, 1),
    )


def _quartile(values: Sequence[float], which: int) -> float:
    """Return a quartile by linear interpolation."""
    ordered = sorted(values)
    place = which / 4 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
