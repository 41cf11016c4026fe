"""A quantity over time as a sum that never falls, so that any window of it is one subtraction.

Counters (joules, bytes, throttled nanoseconds) come as they are read, means (shares, rates) as what they add
up to. Beside the sum goes the time over which it was seen at all: a gap adds nothing to either. Between two
points both are taken to rise evenly (linear interpolation), which is what decides at a window's borders.
"""

from bisect import bisect_left

_POINTS_MAX = 4096
_SAME_S = 1e-6
_SLACK_S = 0.5


class CumulativeSeries:
    """One quantity; points are in order of time. Older points are thinned, which costs only resolution."""

    def __init__(self, points_max: int = _POINTS_MAX) -> None:
        self._points_max = points_max
        self._at_s: list[float] = []
        self._total: list[float] = []
        self._seen_s: list[float] = []

    @property
    def last_s(self) -> float | None:
        """The moment of the newest point; None for an empty series."""
        return self._at_s[-1] if self._at_s else None

    def __len__(self) -> int:
        return len(self._at_s)

    def add(self, from_s: float, to_s: float, amount: float) -> None:
        """Add what came between two moments; what lies before the newest point is left out, in proportion."""
        last = self.last_s
        if last is None:
            self._append(from_s, 0.0, 0.0)
        elif from_s > last + _SAME_S:
            self._append(from_s, 0.0, 0.0)  # nothing was seen since
        elif from_s < last:
            if to_s <= last:
                return
            amount *= (to_s - last) / (to_s - from_s)
            from_s = last
        if to_s > from_s:
            self._append(to_s, amount, to_s - from_s)

    def _append(self, at_s: float, amount: float, seen_s: float) -> None:
        self._at_s.append(at_s)
        self._total.append((self._total[-1] if self._total else 0.0) + amount)
        self._seen_s.append((self._seen_s[-1] if self._seen_s else 0.0) + seen_s)
        if len(self._at_s) > self._points_max:
            self._thin()

    def _thin(self) -> None:
        """Keep every second point of the older half."""
        half = len(self._at_s) // 2
        for column in (self._at_s, self._total, self._seen_s):
            column[:half] = column[:half:2]

    def between(self, begin_s: float, end_s: float) -> tuple[float, float]:
        """Return the amount between two moments, and how many seconds of that time were seen."""
        if not self._at_s or end_s <= begin_s:
            return 0.0, 0.0
        total_before, seen_before = self._at(begin_s)
        total_after, seen_after = self._at(end_s)
        return total_after - total_before, seen_after - seen_before

    def _at(self, moment_s: float) -> tuple[float, float]:
        place = bisect_left(self._at_s, moment_s)
        if place == 0:
            return self._total[0], self._seen_s[0]
        if place == len(self._at_s):
            return self._total[-1], self._seen_s[-1]
        left, right = self._at_s[place - 1], self._at_s[place]
        part = (moment_s - left) / (right - left)
        return _between(self._total, place, part), _between(self._seen_s, place, part)


def _between(column: list[float], place: int, part: float) -> float:
    return column[place - 1] + part * (column[place] - column[place - 1])


class CounterIntake:
    """Turns readings of a counter into a series; a counter that falls or leaps is not believed.

    Args:
        series: takes the amounts.
        unit: of the counter, in the series' unit.
        most_per_s: more than this a second, in the series' unit, cannot be; half a second is allowed for the
            moments of two readings, which are not exact on a busy host.
        longest_s: readings further apart than this make a gap.
    """

    def __init__(
        self, series: CumulativeSeries, unit: float, most_per_s: float, longest_s: float = 60.0
    ) -> None:
        self._series = series
        self._unit = unit
        self._most_per_s = most_per_s
        self._longest_s = longest_s
        self._before: tuple[float, float] | None = None
        self.refused = 0
        """Intervals that were not believed: the counter fell, or rose faster than can be."""

    def take(self, at_s: float, raw: float) -> None:
        """Take a reading in."""
        before, self._before = self._before, (at_s, raw)
        if before is None or at_s <= before[0]:
            return
        elapsed_s, amount = at_s - before[0], (raw - before[1]) * self._unit
        if not 0 <= amount <= self._most_per_s * (elapsed_s + _SLACK_S):
            self.refused += 1
        elif elapsed_s <= self._longest_s:
            self._series.add(before[0], at_s, amount)
