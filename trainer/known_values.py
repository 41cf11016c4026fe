"""Figures of which some were not measured."""

from collections.abc import Iterable


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of those that were measured; None: none was."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
