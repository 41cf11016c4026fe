"""Cumulative counters to rates. Pure: the time is passed in."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)


class Rates(Generic[Name]):
    """How fast named counters grow from one reading to the next."""

    def __init__(self) -> None:
        self._before: Mapping[Name, float] = {}
        self._at_s: float | None = None

    def take(self, counters: Mapping[Name, float], now_s: float) -> dict[Name, float]:
        """Return the growth per second since the last call, of each counter that was there then.

        A counter that went back was reset: it is left out once.
        """
        before, at_s = self._before, self._at_s
        self._before, self._at_s = counters, now_s
        if at_s is None or now_s <= at_s:
            return {}
        span_s = now_s - at_s
        return {
            name: (value - before[name]) / span_s
            for name, value in counters.items()
            if name in before and value >= before[name]
        }
