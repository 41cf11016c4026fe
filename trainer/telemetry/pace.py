"""What reading costs, and how often it may be done so that it stays within its share of a core. Pure."""

from collections import deque

_EARLY_S = 0.25
"""Readings hang on a clock of about a second: one that is due in a moment is taken now."""


class Pace:
    """A period that grows when what is done takes too long.

    Args:
        period_s: how often, at best.
        most_share: what share of a core it may cost.
    """

    def __init__(self, period_s: float, most_share: float) -> None:
        self._least_s = period_s
        self._most_share = most_share
        self.period_s = period_s
        self._last_s: float | None = None

    def due(self, now_s: float) -> bool:
        """Tell whether it is time, and take it for done when it is."""
        if self._last_s is not None and now_s - self._last_s < self.period_s - _EARLY_S:
            return False
        self._last_s = now_s
        return True

    def took(self, cpu_s: float) -> None:
        """Note what it cost."""
        self.period_s = max(self._least_s, cpu_s / self._most_share)

    def age_s(self, now_s: float) -> float | None:
        """Return how long ago it was done last; None: never."""
        return None if self._last_s is None else max(0.0, now_s - self._last_s)


class OwnCost:
    """CPU time of the last readings over the time that they cover."""

    def __init__(self, readings: int = 10) -> None:
        self._spent: deque[tuple[float, float]] = deque(maxlen=readings + 1)

    def add(self, began_s: float, cpu_s: float) -> None:
        """Take in one reading: when it began, and what it cost."""
        self._spent.append((began_s, cpu_s))

    def share(self, now_s: float) -> float | None:
        """Return the share of a core since the oldest of these readings; None without one."""
        if not self._spent or now_s <= self._spent[0][0]:
            return None
        return sum(cpu_s for _, cpu_s in self._spent) / (now_s - self._spent[0][0])
