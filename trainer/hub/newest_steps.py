"""Statistics of the newest steps of one rank, kept up as steps come."""

from bisect import bisect_left, insort
from collections import deque
from itertools import islice

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.step_totals import Totals, WindowFigures, stats_of_sorted

WARM_STEPS = 10
"""The first steps never count: caches, algorithm search, worker start. Fewer while the run is very short."""


class NewestSteps:
    """Statistics of the newest usual steps, kept up as steps come: a look counts those since the last one.

    Args:
        steps: how many at most.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._rows: deque[StepRecord] = deque()
        self._walls_ms: list[float] = []
        self._totals = Totals()
        self._seen = -1
        self._steps_done = 0
        """At the last look."""
        self._figures: WindowFigures | None = None

    def figures(self, raw: "deque[StepRecord]", appended: int) -> WindowFigures | None:
        """Return the statistics as of now; None when there is no usual step past the warm-up.

        Args:
            raw: the steps of the rank as far as they are kept, oldest first.
            appended: how many steps were ever appended to it.
        """
        if appended == self._seen:
            return self._figures
        fresh = appended - self._seen
        settled = self._seen >= 0 and self._steps_done >= 3 * WARM_STEPS
        if settled and fresh < min(self._steps, len(raw)):
            for row in reversed(list(islice(reversed(raw), fresh))):
                if not row.flags & UNUSUAL_FLAGS:
                    self._take(row)
        else:
            self._begin_anew(raw)
        self._seen, self._steps_done = appended, raw[-1].step + 1 if raw else 0
        if not self._walls_ms:
            self._figures = None
        else:
            self._figures = self._totals.figures(stats_of_sorted(self._walls_ms))
        return self._figures

    def _begin_anew(self, raw: "deque[StepRecord]") -> None:
        self._rows.clear()
        self._walls_ms.clear()
        self._totals = Totals()
        warm = min(WARM_STEPS, (raw[-1].step + 1) // 3) if raw else 0
        usual: list[StepRecord] = []
        for row in reversed(raw):
            if row.step < warm or len(usual) == self._steps:
                break
            if not row.flags & UNUSUAL_FLAGS:
                usual.append(row)
        for row in reversed(usual):
            self._take(row)

    def _take(self, row: StepRecord) -> None:
        self._rows.append(row)
        insort(self._walls_ms, row.wall_ns / 1e6)
        self._totals.add(row)
        if len(self._rows) > self._steps:
            oldest = self._rows.popleft()
            del self._walls_ms[bisect_left(self._walls_ms, oldest.wall_ns / 1e6)]
            self._totals.add(oldest, -1)
