"""Opens the windows that a run's schedule asks for, as far as nothing else goes on."""

import contextlib

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import Refused
from perftui.ipc.run_files import RunDescription
from perftui.trainer.hub import window_orders
from perftui.trainer.hub.look_schedule import RankNow, look_steps
from perftui.trainer.hub.profile_windows import ProfileWindows
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import WARM_STEPS
from perftui.trainer.hub.window_schedule import RankSteps, ScheduleWatch, steady_walls_ms

_KINDS = ("every", "jump")
_LOOKED_AT_STEPS = 20
_JUDGED_STEPS = 2600
"""As many as a jump may be judged on."""


class Scheduler:
    """The schedule of one run; a trial has none, and of several hosts the lead alone."""

    def __init__(self, windows: ProfileWindows, description: RunDescription) -> None:
        self._windows = windows
        member = description.hosts is not None and description.hosts.role == "member"
        self._schedule = None if description.trial or member else description.profile_schedule
        self._seconds, self._steps = description.seconds_limit, description.steps_limit
        self._watch: ScheduleWatch | None = None
        self._looked = False

    def look(self, *, relaunching: bool, past_warm_s: float | None) -> None:
        """Open a window if one is due; about once a second.

        Args:
            relaunching: a relaunch is being measured.
            past_warm_s: time since the run's warm-up; None: it goes on.
        """
        live = self._windows.live
        if self._schedule is None or not live:
            return
        if self._schedule.look and past_warm_s is not None and not (self._windows.open or relaunching):
            self._take_look(live, past_warm_s)
        if self._schedule.every_steps is not None or self._schedule.jump_share is not None:
            self._by_steps(live, relaunching=relaunching)

    def _take_look(self, live: list[RankTrack], past_warm_s: float) -> None:
        self._looked = self._looked or self._windows.opened("") > 0
        if self._looked:
            return
        step_s = window_orders.step_s(live)
        ahead = window_orders.warm_steps(live) + (window_orders.margin_steps(live) if len(live) > 1 else 1)
        ranks = [
            RankNow(track.log.since(len(track.log) - _LOOKED_AT_STEPS), _profiles_itself(track))
            for track in live
        ]
        limit_s = self._limit_s(past_warm_s, step_s, min(len(track.log) for track in live))
        steps = look_steps(ranks, past_warm_s, limit_s, step_s=step_s, ahead=ahead)
        if not steps:
            return
        self._looked = True
        furthest = max(len(track.log) for track in live)
        with contextlib.suppress(Refused):  # the last rank has just ended
            self._windows.begin(
                ProfileCommand(command_id="", steps=steps),
                window_id=f"look{furthest}",
                opened_by="one look at the steady run (--no-window: none)",
            )

    def _limit_s(self, past_warm_s: float, step_s: float, done: int) -> float | None:
        """Return when the run will be stopped, in seconds past its warm-up; None: it will not."""
        by_steps = None if self._steps is None else past_warm_s + (WARM_STEPS + self._steps - done) * step_s
        known = [each for each in (self._seconds, by_steps) if each is not None]
        return min(known, default=None)

    def _by_steps(self, live: list[RankTrack], *, relaunching: bool) -> None:
        assert self._schedule is not None
        if self._watch is None:
            self._watch = ScheduleWatch(self._schedule, self._windows.opened(*_KINDS))
        judged = self._schedule.jump_share is not None
        steps = [
            RankSteps(
                track.hello.rank,
                len(track.log),
                steady_walls_ms(track.log.since(len(track.log) - _JUDGED_STEPS)) if judged else (),
            )
            for track in live
        ]
        free = not (self._windows.open or relaunching)
        due = self._watch.due(steps, window_orders.margin_steps(live), free=free)
        if due is None:
            return
        command = ProfileCommand(command_id="", steps=self._schedule.steps)
        with contextlib.suppress(Refused):  # the last rank has just ended
            self._windows.begin(
                command, window_id=due.window_id, not_before=due.start_step, opened_by=due.why
            )


def _profiles_itself(track: RankTrack) -> bool:
    backends = track.facts.backends
    return backends is not None and bool(backends.profiler)
