"""Opens the windows that a run's schedule asks for, as far as nothing else goes on."""

import contextlib

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import Refused
from perftui.ipc.run_files import RunDescription
from perftui.trainer.hub.profile_windows import ProfileWindows
from perftui.trainer.hub.window_orders import margin_steps
from perftui.trainer.hub.window_schedule import RankSteps, ScheduleWatch, steady_walls_ms

_KINDS = ("every", "jump")
_JUDGED_STEPS = 2600
"""As many as a jump may be judged on."""


class Scheduler:
    """The schedule of one run; a trial has none."""

    def __init__(self, windows: ProfileWindows, description: RunDescription) -> None:
        self._windows = windows
        self._schedule = None if description.trial else description.profile_schedule
        self._watch: ScheduleWatch | None = None

    def look(self, *, relaunching: bool) -> None:
        """Open a window if one is due; about once a second."""
        live = self._windows.live
        if self._schedule is None or not live:
            return
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
        due = self._watch.due(steps, margin_steps(live), free=not (self._windows.open or relaunching))
        if due is None:
            return
        command = ProfileCommand(command_id="", steps=self._schedule.steps)
        with contextlib.suppress(Refused):  # the last rank has just ended
            self._windows.begin(
                command, window_id=due.window_id, not_before=due.start_step, opened_by=due.why
            )
