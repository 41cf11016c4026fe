"""Readings over the whole run in bounded room: each figure as a column, thinned to means as the run grows."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import isnan, nan

POINTS_MAX = 1024


class ReadingLog:
    """Figures that are read together: `names` says which, `period_s` how far apart two readings may be.

    At most 1,024 points, each the mean of `stride` readings and dated by the last of them.
    """

    def __init__(self, names: Sequence[str], period_s: float = 2.0) -> None:
        self.names = tuple(names)
        self._period_s = period_s
        self.stride = 1
        self._unix = array("d")
        self._columns = [array("f") for _ in self.names]
        self._pending: list[Sequence[float | None]] = []

    def __len__(self) -> int:
        return len(self._unix)

    def add(self, unix: float, figures: Sequence[float | None]) -> None:
        """Take one reading in; None: the figure was not read."""
        self._pending.append(figures)
        if len(self._pending) < self.stride:
            return
        self._unix.append(unix)
        for at, column in enumerate(self._columns):
            column.append(_mean([row[at] for row in self._pending]))
        self._pending.clear()
        if len(self._unix) >= POINTS_MAX:
            self._halve()

    def _halve(self) -> None:
        self.stride *= 2
        self._unix = self._unix[1::2]
        self._columns = [
            array("f", [_mean(pair) for pair in zip(column[::2], column[1::2], strict=False)])
            for column in self._columns
        ]

    def over(self, edges: Sequence[tuple[float, float] | None]) -> dict[str, list[float | None]]:
        """Return each figure's mean over each stretch of time (unix seconds); None: it was not read.

        A stretch between two readings has the later one's, if that covers it.
        """
        found: dict[str, list[float | None]] = {name: [] for name in self.names}
        for edge in edges:
            low, high = (0, 0) if edge is None else self._between(*edge)
            for name, column in zip(self.names, self._columns, strict=True):
                value = _mean(column[low:high])
                found[name].append(None if isnan(value) else value)
        return found

    def _between(self, begin: float, end: float) -> tuple[int, int]:
        low, high = bisect_right(self._unix, begin), bisect_right(self._unix, end)
        if low < high:
            return low, high
        after = bisect_left(self._unix, end)
        if after < len(self._unix) and self._unix[after] - end <= self._period_s * self.stride:
            return after, after + 1
        return 0, 0


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None and not isnan(value)]
    return sum(known) / len(known) if known else nan
