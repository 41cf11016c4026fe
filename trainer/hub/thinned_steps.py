"""The steps of a whole run in bounded room: points that each stand for a stretch of steps. Pure."""

from array import array
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import or_

from perftui.ipc.messages import FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord

_POINTS = 1024
_Spans = Sequence[tuple[int, int]]
"""Slices of points that become one."""


class Thinned:
    """A series of any length in at most 1,024 points, each of the steps from `n * stride` to the next such.

    Where steps were lost, or the part of the recording that held them is gone, points have fewer steps, or
    are missing: a point's place among the others says nothing of its step.
    """

    def __init__(self) -> None:
        self.stride = 1
        self.begin_ns = array("q")
        """When the first of each point's steps began, on the rank's clock."""
        self.end_ns = array("q")
        """When the last of them ended."""
        self._cells = array("q")
        self._flags: list[int] = []
        self._walls, self._waits, self._usual = _Means(), _Means(), _Means()
        self._pending: list[StepRecord] = []

    def __len__(self) -> int:
        return len(self._cells)

    def extend(self, rows: Sequence[StepRecord]) -> None:
        """Append steps."""
        at = 0
        while at < len(rows):
            cell = rows[at].step // self.stride
            if self._pending and self._pending[-1].step // self.stride != cell:
                self._close_point()
                continue  # the stride may be another now
            end = (cell + 1) * self.stride
            until = min(len(rows), at + end - rows[at].step)
            while rows[until - 1].step // self.stride != cell:  # steps are missing in between
                until -= 1
            self._pending += rows[at:until]
            at = until
            if self._pending[-1].step == end - 1 or len(self._pending) >= self.stride:
                self._close_point()

    @property
    def first_steps(self) -> list[int]:
        """The step from which on each point stands."""
        return [cell * self.stride for cell in self._cells]

    @property
    def wall_ms(self) -> list[float]:
        """Mean of all steps of each point: unusual ones are shown as well."""
        return self._walls.ms()

    @property
    def wait_ms(self) -> list[float]:
        """Mean of those waits that are known; 0 where none is."""
        return self._waits.ms()

    @property
    def flags(self) -> list[int]:
        """Those that any step of a point has; FLAG_WAIT_UNKNOWN where the wait of none is known."""
        return [
            flags if known else flags | FLAG_WAIT_UNKNOWN
            for flags, known in zip(self._flags, self._waits.counts, strict=True)
        ]

    def usual_walls_ms(self, first_step: int) -> list[float]:
        """Return the mean of the usual steps of each point that has any, from a step on.

        An unusual step must not take its whole point away: the hooks sleep through one step of 32, so that
        in a long run every point has some.
        """
        points = zip(self.first_steps, self._usual.counts, self._usual.ms(), strict=True)
        return [mean for first, usual, mean in points if usual and first >= first_step]

    def over(self, first: int, last: int) -> list[int]:
        """Return which points stand for any of the steps `first` to `last`."""
        low, high = first // self.stride, last // self.stride
        return [at for at, cell in enumerate(self._cells) if low <= cell <= high]

    def stretches(self, before: int) -> list[tuple[int, int]]:
        """Return the points that end before a step, as slices without a gap."""
        ends = (at for at, cell in enumerate(self._cells) if (cell + 1) * self.stride > before)
        count = next(ends, len(self))
        breaks = [at for at in range(1, count) if self._cells[at] != self._cells[at - 1] + 1]
        return list(pairwise([0, *breaks, count])) if count else []

    def _close_point(self) -> None:
        rows, self._pending = self._pending, []
        self._cells.append(rows[0].step // self.stride)
        flags = _any([row.flags for row in rows])
        self._flags.append(flags & ~FLAG_WAIT_UNKNOWN)
        self.begin_ns.append(rows[0].end_ns - rows[0].wall_ns)
        self.end_ns.append(rows[-1].end_ns)
        self._walls.add([row.wall_ns for row in rows])
        known = _without(FLAG_WAIT_UNKNOWN, rows) if flags & FLAG_WAIT_UNKNOWN else rows
        self._waits.add([row.wait_ns for row in known])
        usual = _without(UNUSUAL_FLAGS, rows) if flags & UNUSUAL_FLAGS else rows
        self._usual.add([row.wall_ns for row in usual])
        if len(self) > 1 and self._cells[-1] == self._cells[-2]:  # the stride grew within this point's steps
            self._join()
        while len(self) >= _POINTS:
            self.stride *= 2
            self._cells = array("q", [cell // 2 for cell in self._cells])
            self._join()

    def _join(self) -> None:
        """Make one point of neighbours that stand for the same steps."""
        cells = self._cells
        starts = [at for at in range(len(cells)) if not at or cells[at] != cells[at - 1]]
        spans = list(pairwise([*starts, len(cells)]))
        self._cells = array("q", [cells[begin] for begin, _ in spans])
        self._flags = [_any(self._flags[begin:end]) for begin, end in spans]
        self.begin_ns = array("q", [self.begin_ns[begin] for begin, _ in spans])
        self.end_ns = array("q", [self.end_ns[end - 1] for _, end in spans])
        for means in (self._walls, self._waits, self._usual):
            means.join(spans)


class _Means:
    """Means of a figure over the steps of each point for which it counts."""

    def __init__(self) -> None:
        self.counts = array("q")
        self._ns = array("d")

    def add(self, values_ns: Sequence[int]) -> None:
        """Append a point."""
        self.counts.append(len(values_ns))
        self._ns.append(sum(values_ns))

    def join(self, spans: _Spans) -> None:
        """Make one point of each span."""
        self.counts = array("q", [sum(self.counts[begin:end]) for begin, end in spans])
        self._ns = array("d", [sum(self._ns[begin:end]) for begin, end in spans])

    def ms(self) -> list[float]:
        """Return the means; 0 where there is nothing to take one of."""
        return [ns / count / 1e6 if count else 0.0 for count, ns in zip(self.counts, self._ns, strict=True)]


def _any(flags: Sequence[int]) -> int:
    return reduce(or_, flags, 0)


def _without(flags: int, rows: Sequence[StepRecord]) -> list[StepRecord]:
    return [row for row in rows if not row.flags & flags]
