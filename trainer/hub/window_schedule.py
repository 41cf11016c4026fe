"""When a schedule opens a window: at every n-th step, and when steps have become slower all at once.

The jump is judged on steady steps alone: warm-up, profiled, compiling and failed steps and those that begin
an epoch are left out. It must show in two looks in a row, and again only after it has passed.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perftui.ipc.messages import FLAG_EPOCH_START, UNUSUAL_FLAGS
from perftui.ipc.profile_schedule import ProfileSchedule
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.step_log import WARM_STEPS, quantile

_NEW_STEPS = 10
_NEW_MS = 2000.0
_NEW_MAX = 500
_OLD_LEAST = 50
_OLD_MAX = 2000
_OLD_PER_NEW = 5
_LEAD_MARGINS = 3
"""A margin is a second's worth of steps, and so is the time between two looks."""


class Due(NamedTuple):
    """A window that is to be opened."""

    window_id: str
    start_step: int
    """Not before this step; negative: as soon as possible."""
    why: str


class RankSteps(NamedTuple):
    """The newest steps of a rank."""

    rank: int
    done: int
    """Steps it has finished."""
    walls_ms: Sequence[float]
    """Steady ones, oldest first."""


def steady_walls_ms(rows: Iterable[StepRecord]) -> list[float]:
    """Return the wall times of steady steps."""
    unsteady = UNUSUAL_FLAGS | FLAG_EPOCH_START
    return [row.wall_ns / 1e6 for row in rows if row.step >= WARM_STEPS and not row.flags & unsteady]


def jump_of(walls_ms: Sequence[float]) -> float | None:
    """Return by which share the newest steps take longer than those before; None: too few to say.

    The newest are the last ten, or as many as make two seconds. Where their quarter-quantile does not lie
    above the three-quarter-quantile of those before, the two overlap (steps of two kinds, say), and there is
    no jump: 0.
    """
    count, total_ms = 0, 0.0
    for wall_ms in reversed(walls_ms):
        if count == _NEW_MAX or (count >= _NEW_STEPS and total_ms >= _NEW_MS):
            break
        count += 1
        total_ms += wall_ms
    new = sorted(walls_ms[len(walls_ms) - count :])
    old = sorted(walls_ms[: len(walls_ms) - count][-max(_OLD_LEAST, min(_OLD_MAX, _OLD_PER_NEW * count)) :])
    if len(new) < _NEW_STEPS or len(old) < _OLD_LEAST:
        return None
    if quantile(new, 0.25) <= quantile(old, 0.75):
        return 0.0
    return quantile(new, 0.5) / quantile(old, 0.5) - 1.0


class ScheduleWatch:
    """Follows one run; asked about once a second.

    Args:
        schedule: what is wanted.
        opened: windows that it has opened so far, by a hub before this one.
    """

    def __init__(self, schedule: ProfileSchedule, opened: int = 0) -> None:
        self._schedule = schedule
        self._opened = opened
        self._next: int | None = None
        self._jumped_at: int | None = None
        """Steps done at the look that saw the jump first."""
        self._ready = True
        """No jump has been seen since the last one passed."""

    def due(self, ranks: Sequence[RankSteps], margin: int, *, free: bool) -> Due | None:
        """Return the window to open now, if any.

        Args:
            ranks: those that train.
            margin: steps that it takes to have all ranks agree on a start.
            free: no other window is open.
        """
        if not ranks or not self._schedule.wanted or self._opened >= self._schedule.most:
            return None
        furthest = max(rank.done for rank in ranks)
        found = self._due_by_steps(furthest, margin, free=free) or self._due_by_jump(ranks, furthest)
        if found is None or not free:  # what falls into another window is left out
            return None
        self._opened += 1
        return found._replace(why=f"{found.why} (window {self._opened} of at most {self._schedule.most})")

    def _due_by_steps(self, furthest: int, margin: int, *, free: bool) -> Due | None:
        every = self._schedule.every_steps
        if every is None:
            return None
        if self._next is None or self._next < furthest - every:
            self._next = (furthest // every + 1) * every
        if furthest + _LEAD_MARGINS * margin < self._next or (not free and furthest < self._next):
            return None
        start, self._next = self._next, (max(furthest, self._next) // every + 1) * every
        return Due(f"every{start}", start, f"every {every} steps")

    def _due_by_jump(self, ranks: Sequence[RankSteps], furthest: int) -> Due | None:
        limit = self._schedule.jump_share
        if limit is None:
            return None
        jumps = {rank.rank: jump for rank in ranks if (jump := jump_of(rank.walls_ms)) is not None}
        largest = max(jumps, key=lambda rank: jumps[rank], default=None)
        if largest is None or jumps[largest] < limit:
            self._ready |= largest is not None and jumps[largest] < limit / 2
            self._jumped_at = None
            return None
        if not self._ready:
            return None
        if self._jumped_at is None or furthest < self._jumped_at + _NEW_STEPS // 2:
            self._jumped_at = furthest if self._jumped_at is None else self._jumped_at
            return None
        self._ready, self._jumped_at = False, None
        who = f" on rank {largest}" if len(ranks) > 1 else ""
        return Due(f"jump{furthest}", -1, f"the step time rose by {jumps[largest]:.0%}{who}")
