"""Equal values among whole numbers, and quantiles: numpy's own load `numpy.ma` when first called, 10 ms."""

import numpy as np

from perftui.trainer.profiling.trace_columns import Flags, Integers


def distinct(values: Integers) -> Integers:
    """Return each value once, sorted."""
    ordered = np.sort(values)
    return ordered[_begins(ordered)]


def numbered(values: Integers) -> tuple[Integers, Integers, Integers]:
    """Return each value once, sorted; the place of each entry's value there; and how often each occurs."""
    order = stable_order(values)
    ordered = values[order]
    begins = _begins(ordered)
    place = np.empty(len(values), np.int64)
    place[order] = np.cumsum(begins) - 1
    firsts = np.flatnonzero(begins)
    return ordered[firsts], place, np.diff(np.append(firsts, len(values)))


def stable_order(values: Integers) -> Integers:
    """Return the stable order; numbers below 2³² are sorted by their halves, which takes linear time."""
    if not len(values) or int(values.min()) < 0 or int(values.max()) >> 32:
        return np.argsort(values, kind="stable")
    order = np.argsort(values.astype(np.uint16), kind="stable")
    above = (values >> 16)[order]
    return order[np.argsort(above.astype(np.uint16), kind="stable")] if above.any() else order


def among(values: Integers, wanted: Integers) -> Flags:
    """Return whether each value is one of the wanted."""
    known = np.sort(wanted)
    if not len(known):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found: Flags = known[place] == values
    return found


def quantile(values: Integers, share: float) -> float:
    """Return a quantile by linear interpolation, as numpy's default is; 0.0 of nothing."""
    if not len(values):
        return 0.0
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low]) + (place - low) * float(ordered[high] - ordered[low])


def _begins(ordered: Integers) -> Flags:
    result = np.ones(len(ordered), np.bool_)
    result[1:] = ordered[1:] != ordered[:-1]
    return result
