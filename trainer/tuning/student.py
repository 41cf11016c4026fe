"""The quantile of Student's t distribution, by the regularised incomplete beta function.

Apart because it is plain mathematics: the standard library and numpy have no t quantile, and scipy would be a
heavy guest for one number.
"""

import math

_TINY = 1e-300
_TERMS = 500
_PRECISION = 1e-15
_HALVINGS = 200


def t_quantile(probability: float, df: float) -> float:
    """Return q with P(T <= q) = `probability` for `df` degrees of freedom (any positive real number).

    Raises:
        ValueError: the probability is not between 0 and 1, or `df` is not positive.
    """
    if not 0 < probability < 1 or not df > 0:
        raise ValueError(f"no t quantile for probability {probability} and {df} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high = 0.0, 1.0
    while _upper_tail(high, df) > 1 - probability:
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _upper_tail(middle, df) > 1 - probability:
            low = middle
        else:
            high = middle
    return high


def _upper_tail(t: float, df: float) -> float:
    """P(T > t) for t >= 0."""
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised I_x(a, b), on whichever side its continued fraction converges fast."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1 - math.exp(log_front) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by the modified Lentz method."""
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _away_from_zero(1 + numerator * d)
            c = _away_from_zero(1 + numerator / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _away_from_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
