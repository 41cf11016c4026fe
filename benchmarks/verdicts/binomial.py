"""Exact intervals of a share (Clopper and Pearson, 1934). Pure; the standard library has none."""

import math
from collections.abc import Callable

_HALVINGS = 60


def exact_interval(hits: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the shares between which the truth lies when `hits` of `of` independent trials were seen.

    Raises:
        ValueError: more hits than trials, or none of either.
    """
    if not 0 <= hits <= of or of == 0:
        raise ValueError(f"{hits} of {of} is no share")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _where(lambda share: 1 - _at_most(hits - 1, of, share) < tail)
    high = 1.0 if hits == of else _where(lambda share: _at_most(hits, of, share) > tail)
    return low, high


def _at_most(hits: int, of: int, share: float) -> float:
    """P(X <= hits) for a binomial X; 0 < share < 1."""
    return math.fsum(
        math.exp(
            math.lgamma(of + 1)
            - math.lgamma(k + 1)
            - math.lgamma(of - k + 1)
            + k * math.log(share)
            + (of - k) * math.log1p(-share)
        )
        for k in range(hits + 1)
    )


def _where(still: Callable[[float], bool]) -> float:
    """Return the share up to which `still` holds, which it does near 0 and no more near 1."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if still(middle) else (low, middle)
    return low
