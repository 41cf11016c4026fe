"""How long readings take, and the period that follows: readings that take long are made less often. Pure."""

from collections import deque

_KEPT = 32
_FEWEST = 8
_TOO_MUCH = 0.02
"""Most of a period that the readings may take, at the 95th percentile; beyond it the period doubles. At 10 % a
launch-bound step on the GPU that is read took 7 % longer on average and 2.3 times as long at the 99th
percentile (docs/benchmarks.md)."""
_LITTLE = 0.005
"""So little that half the period would do as well."""
_SLOWEST = 16


class Pace:
    """The period of one rate.

    Args:
        period_s: what was asked for; never undercut.
    """

    def __init__(self, period_s: float) -> None:
        self._asked_s = period_s
        self.period_s = period_s
        """In force."""
        self._took_s: deque[float] = deque(maxlen=_KEPT)
        self.p95_s: float | None = None
        """95th percentile of what the newest readings took; None before there is one."""

    def note(self, took_s: float) -> None:
        """A reading took so long."""
        self._took_s.append(took_s)
        ordered = sorted(self._took_s)
        p95_s = self.p95_s = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        if len(ordered) < _FEWEST:
            return
        if p95_s > _TOO_MUCH * self.period_s and self.period_s < _SLOWEST * self._asked_s:
            self._alter(2.0)
        elif p95_s < _LITTLE * self.period_s and self.period_s > self._asked_s:
            self._alter(0.5)

    def _alter(self, factor: float) -> None:
        self.period_s = max(self._asked_s, self.period_s * factor)
        self._took_s.clear()
