"""Bounded step history of one rank: the newest steps raw, the older ones thinned, the whole run in sums.

Apart from the rank's state because it is pure arithmetic on columns: no clock, no messages.
"""

from collections import deque
from collections.abc import Sequence
from itertools import takewhile

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import StepStats
from perftui.trainer.hub.epoch_waits import EPOCHS_KEPT, EpochWaits
from perftui.trainer.hub.newest_steps import WARM_STEPS as WARM_STEPS
from perftui.trainer.hub.newest_steps import NewestSteps
from perftui.trainer.hub.step_totals import Totals
from perftui.trainer.hub.step_totals import WindowFigures as WindowFigures
from perftui.trainer.hub.step_totals import figures_of as figures_of
from perftui.trainer.hub.step_totals import quantile as quantile
from perftui.trainer.hub.step_totals import stats_of as stats_of
from perftui.trainer.hub.thinned_steps import Thinned

RAW_STEPS = 4096
_RAW_OF_ALL = 64 * RAW_STEPS
"""Some 180 MB."""
_RAW_LEAST = 256
_PLAIN_LEAST = 4
"""Fewer are counted sooner one by one than by columns."""
_QUANTILE_POINTS_A_STEP = 2
"""For each step that is kept one by one, so many are kept in a sample of the whole run."""
_KNUTH_MULTIPLIER = 2654435761
_MASK = 0xFFFFFFFF


def raw_steps_of(world_size: int) -> int:
    """Return how many steps of each rank are kept one by one, where there are so many ranks."""
    return max(_RAW_LEAST, min(RAW_STEPS, _RAW_OF_ALL // max(1, world_size)))


class StepLog:
    """The steps of one rank.

    Args:
        raw_steps: how many of the newest are kept one by one.
    """

    def __init__(self, raw_steps: int = RAW_STEPS) -> None:
        self.raw: deque[StepRecord] = deque(maxlen=raw_steps)
        self._walls_most = _QUANTILE_POINTS_A_STEP * raw_steps
        self.thinned = Thinned()
        self._warm: list[StepRecord] = []
        self._totals = Totals()
        self._walls: list[tuple[int, float]] = []
        self._walls_below = _MASK
        self.epoch_waits = EpochWaits()
        self.appended = 0
        """Steps that came in so far: what was worked out from the steps holds until this changes."""
        self._windows: dict[int, NewestSteps] = {}

    def __len__(self) -> int:
        return self.raw[-1].step + 1 if self.raw else 0

    def add(self, row: StepRecord) -> None:
        """Append one step."""
        self.extend([row])

    def extend(self, rows: Sequence[StepRecord]) -> None:
        """Append steps, oldest first."""
        self.raw.extend(rows)
        self.thinned.extend(rows)
        self.appended += len(rows)
        if rows and rows[0].step < WARM_STEPS:
            self._warm += [row for row in rows if row.step < WARM_STEPS]
            rows = [row for row in rows if row.step >= WARM_STEPS]
        if rows and rows[0].epoch < EPOCHS_KEPT:
            self.epoch_waits.add(rows)
        if len(rows) >= _PLAIN_LEAST and not any(row.flags for row in rows):
            self._totals.add_plain(rows)
            self._sample_walls(rows)
            return
        for row in rows:
            if not row.flags & UNUSUAL_FLAGS:
                self._totals.add(row)
                self._sample_walls([row])

    @property
    def mean_wall_ns(self) -> float | None:
        """Mean wall time of a usual step over the whole run; None in the warm-up."""
        return self._totals.wall_ns / self._totals.steps if self._totals.steps else None

    @property
    def warm_end_ns(self) -> int | None:
        """When the warm-up ended, on the rank's clock; None before, or where its steps were lost."""
        return self._warm[-1].end_ns if self._warm and self._warm[-1].step == WARM_STEPS - 1 else None

    def _sample_walls(self, rows: Sequence[StepRecord]) -> None:
        # picked by a hash of the step: a fixed stride would alias with stalls that come every n-th step
        below = self._walls_below
        self._walls += [
            (mixed, row.wall_ns / 1e6)
            for row in rows
            if (mixed := (row.step * _KNUTH_MULTIPLIER) & _MASK) <= below
        ]
        while len(self._walls) > self._walls_most:
            self._walls_below //= 2
            self._walls = [point for point in self._walls if point[0] <= self._walls_below]

    def since(self, index: int) -> list[StepRecord]:
        """Return the raw steps from `index` on, as far back as they are kept, oldest first."""
        rows = list(takewhile(lambda row: row.step >= index, reversed(self.raw)))
        rows.reverse()
        return rows

    def window(self, steps: int) -> WindowFigures | None:
        """Return the statistics of the last `steps` usual steps, warm-up left out."""
        newest = self._windows.get(steps)
        if newest is None:
            newest = self._windows[steps] = NewestSteps(steps)
        return newest.figures(self.raw, self.appended)

    def whole(self) -> WindowFigures | None:
        """Return the statistics of the whole run, warm-up and unusual steps left out.

        A run of fewer than three times the warm-up is judged on its last two thirds.
        """
        if len(self) < 3 * WARM_STEPS:
            warm = len(self) // 3
            return figures_of(r for r in self.raw if r.step >= warm and not r.flags & UNUSUAL_FLAGS)
        sampled = stats_of(wall_ms for _, wall_ms in self._walls)
        if sampled is None:
            return None
        mean = self._totals.wall_ns / self._totals.steps / 1e6
        return self._totals.figures(StepStats(mean=mean, p50=sampled.p50, p90=sampled.p90, p99=sampled.p99))
