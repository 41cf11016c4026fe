"""Numbers as traces have them, as numpy columns: quick where they are numbers, patient where they are not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perftui.trainer.profiling.trace_columns import Integers, Reals

_LARGEST = 1 << 63


def reals(values: Sequence[Any]) -> Reals:
    """Return the values as numbers; NaN where one is none."""
    try:
        quick = np.array(values, np.float64)
    except (ValueError, TypeError, OverflowError):
        quick = None
    if quick is None or quick.ndim != 1:  # lists among them: equally long ones make a table
        return np.array([_real(value) for value in values], np.float64)
    return quick


def integers(values: Sequence[Any]) -> Integers:
    """Return the values as whole numbers; -1 where one is none."""
    try:
        quick = np.array(values, np.int64)
    except (ValueError, TypeError, OverflowError):
        quick = None
    if quick is None or quick.ndim != 1:
        return np.array([_integer(value) for value in values], np.int64)
    return quick


def nanoseconds(microseconds: Reals) -> Integers:
    """Return whole nanoseconds; apart for the whole and the broken part, as a double has not digits for both.

    A time of today in microseconds leaves a double a resolution of 0.25 µs; traces since torch 2.4 count from
    a base time instead and are exact.
    """
    whole = np.floor(microseconds)
    result = whole.astype(np.int64) * 1000
    result += np.rint((microseconds - whole) * 1000).astype(np.int64)
    return result


def _real(value: str | float) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def _integer(value: str | float) -> int:
    try:
        number = int(value)
    except (ValueError, TypeError, OverflowError):
        number = -1
        if isinstance(value, str) and not np.isnan(real := _real(value)) and abs(real) < _LARGEST:
            number = int(real)
    return number if -_LARGEST <= number < _LARGEST else -1
