"""Numbers as traces have them, as numpy columns: quick where they are numbers, patient where they are not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perftui.trainer.profiling.trace_columns import Flags, Integers, Reals

_LARGEST = 1 << 63
_LATEST_US = float(1 << 52)


def reals(rows: Sequence[Any], field: Callable[[Any], Any]) -> Reals:
    """Return a field of the rows as numbers; NaN where it is none."""
    try:
        return np.fromiter(map(field, rows), np.float64, len(rows))
    except (ValueError, TypeError, OverflowError):
        return np.array([_real(field(row)) for row in rows], np.float64)


def integers(rows: Sequence[Any], field: Callable[[Any], Any]) -> Integers:
    """Return a field of the rows as whole numbers; -1 where it is none."""
    try:
        return np.fromiter(map(field, rows), np.int64, len(rows))
    except (ValueError, TypeError, OverflowError):
        return np.array([integer(field(row)) for row in rows], np.int64)


def nanoseconds(microseconds: Reals) -> Integers:
    """Return whole nanoseconds; apart for the whole and the broken part, as a double has not digits for both.

    A time of today in microseconds leaves a double a resolution of 0.25 µs; traces since torch 2.4 count from
    a base time instead and are exact.
    """
    whole = np.floor(microseconds)
    result = whole.astype(np.int64) * 1000
    result += np.rint((microseconds - whole) * 1000).astype(np.int64)
    return result


def are_times(microseconds: Reals) -> Flags:
    """Return which of the numbers are times, of any clock until the year 2112: then sums of two fit."""
    return np.abs(microseconds) < _LATEST_US  # never true of what is no number


def _real(value: str | float) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def integer(value: object) -> int:
    """Return the value as a whole number; -1 where it is none."""
    try:
        number = int(value)  # type: ignore[call-overload]  # what cannot be one raises TypeError
    except (ValueError, TypeError, OverflowError):
        number = -1
        if isinstance(value, str) and not np.isnan(real := _real(value)) and abs(real) < _LARGEST:
            number = int(real)
    return number if -_LARGEST <= number < _LARGEST else -1
