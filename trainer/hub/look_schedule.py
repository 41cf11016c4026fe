"""When the one window of a bounded look opens: about half way, once the run is steady and time allows. Pure.

A profiling window settles what counters cannot: it is taken by itself where the run is a diagnosis by intent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.messages import FLAG_COMPILING, UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.step_log import WARM_STEPS

LEAST_S = 10.0
"""Least limit of a run with a look: below, what a window costs is no small part of it."""
UNLIMITED_S = 30.0
"""Without a limit, the look comes so long after the warm-up."""
_LATEST_SHARE = 0.75
"""Of the limit. Later there is no time left to record, to write and to see what follows."""
_ROOM = 0.7
"""Share of the time left that a window may take."""
_STEADY_STEPS = 5
_JUDGED_STEPS = 10
_STEADY_SHARE = 0.8
"""Of the newest steps must be usual, and none of them compiled."""
_RECORDED_S = 2.0
"""Of steps: what a window costs grows with what it holds, and events are not known before the first."""
_MOST_STEPS = 3


@dataclass(frozen=True)
class RankNow:
    """One rank as the look sees it."""

    newest: Sequence[StepRecord]
    profiles_itself: bool
    """A profiler of the script's own is, or was, at work."""


def steady(rank: RankNow) -> bool:
    """Tell whether a rank's newest steps are past the warm-up, usual, and compile nothing."""
    rows = [row for row in rank.newest if row.step >= WARM_STEPS][-_JUDGED_STEPS:]
    if len(rows) < _STEADY_STEPS or any(row.flags & FLAG_COMPILING for row in rows):
        return False
    usual = sum(not row.flags & UNUSUAL_FLAGS for row in rows)
    return usual >= _STEADY_SHARE * len(rows)


def look_steps(
    ranks: Sequence[RankNow], past_warm_s: float, limit_s: float | None, *, step_s: float, ahead: int
) -> int:
    """Return how many steps to record now; 0: not now.

    Args:
        ranks: those that train.
        past_warm_s: time since the warm-up.
        limit_s: when the run will be stopped, on the same clock; None: it will not.
        step_s: time of a step.
        ahead: steps before the first that is recorded, for all ranks to hear of it and to warm up.
    """
    begins_s = UNLIMITED_S if limit_s is None else limit_s / 2
    if past_warm_s < begins_s or (limit_s is not None and limit_s < LEAST_S):
        return 0
    if limit_s is not None and past_warm_s > _LATEST_SHARE * limit_s:
        return 0
    if not ranks or any(rank.profiles_itself or not steady(rank) for rank in ranks):
        return 0
    most = max(1, min(_MOST_STEPS, int(_RECORDED_S / max(step_s, 1e-6))))
    if limit_s is None:
        return most
    fitting = int(_ROOM * (limit_s - past_warm_s) / max(step_s, 1e-6)) - ahead
    return max(0, min(most, fitting))
