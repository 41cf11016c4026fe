"""Follows one launch through its hub until it has been measured well enough, or cannot be.

Only reads: whoever launched it stops it. A launch that comes to its own end after enough steps is a good one;
one that breaks down is not, however many steps it made: it would break down again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.ledger_records import EndedBy
from perftui.ipc.places import RunPlaces
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.enough import SE_CEILING, Assessment, assess, usual_seconds
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import Prospect, is_out_of_reach
from perftui.trainer.tuning.standing import Moment, Standing, limit_s, standing, steps_left
from perftui.trainer.tuning.steady import FEWEST_BLOCKS, block_length

End: TypeAlias = Literal["enough", "failed", "cancelled"]
Progress: TypeAlias = Callable[[Standing], None]
Promise: TypeAlias = Callable[[Collector], float]
"""Returns the standard error, in log units, that suffices for what this launch shows to be tried next."""

_PULL_S = 0.1
_ASK_AGAIN_S = 1.0
_HUB_AWAY_S = 60.0
_NEWEST = 20
_PROMISE_EVERY_S = 1.0
_SETTINGS_READ_AFTER_STEPS = 20
_SETTINGS_READ_AFTER_S = 5.0
"""From the first step: ranks read back once a second, and the hub may be busy."""
_BROKEN = frozenset({"failed", "lost"})
_ENDED = _BROKEN | {"finished", "stopped"}


@dataclass(frozen=True)
class Followed:
    """What was seen of a launch."""

    end: End
    reason: str | None
    """Why it failed."""
    over: bool
    """Whether the training had ended by itself."""
    collector: Collector
    steps_s: list[float]
    block: int
    assessment: Assessment
    first_step_s: float | None
    """From the beginning of following to the first step."""
    elapsed_s: float
    """From its launch on."""
    ended_by: EndedBy | None
    """None: it was given up, or could not be measured."""
    se_wanted: float
    """The standard error that would have been enough in the end, in log units."""


def broken_words(newest_step: int, message: str | None) -> str:
    """Say that a launch broke down by itself, and when.

    Args:
        newest_step: the last step that it made.
        message: how its hub tells the end; None: not told.
    """
    return f"it broke down by itself after step {newest_step}" + (f": {message}" if message else "")


class Follower:
    """Follows one launch.

    Args:
        places: of the launch.
        asked: the settings it was launched with.
        se_wanted: the standard error at which it is enough, in log units.
        caps: how long it may take.
        progress: told of each change.
        cancelled: asked ten times a second.
        promise: asked once a second, when there is an estimate that is not yet as good as wanted.
        prospect: what the comparison may find at best; None: the launch goes on to its limit in any case.
        launched_s: seconds that passed since its launch.
    """

    def __init__(
        self,
        places: RunPlaces,
        asked: Settings,
        se_wanted: float,
        caps: Caps,
        progress: Progress,
        cancelled: Callable[[], bool],
        promise: Promise | None = None,
        prospect: Prospect | None = None,
        launched_s: float = 0.0,
    ) -> None:
        self._address = places.dashboard_socket
        self._asked, self._se_wanted, self._caps = asked, se_wanted, caps
        self._progress, self._cancelled, self._promise = progress, cancelled, promise
        self._prospect, self._launched_s = prospect, launched_s
        self._promised_at, self._promised_se = 0.0, 0.0
        self._collector = Collector()
        self._began = time.monotonic()
        self._first_step_at: float | None = None
        self._newest, self._newest_at = -1, self._began
        self._heard_at = self._began

    def follow(self) -> Followed:
        """Return when it is measured, has failed or was cancelled.

        Raises:
            ProtocolError: the hub speaks another protocol.
        """
        link = DashboardLink(self._address)
        try:
            while True:
                self._hear(link)
                ended = self._look()
                if ended is not None:
                    return ended
        finally:
            link.close()

    def _hear(self, link: DashboardLink) -> None:
        """Pull once and take what comes; without an answer (a hub that starts again) come back soon."""
        began = time.monotonic()
        link.pull()
        while time.monotonic() - began < _ASK_AGAIN_S and not self._cancelled():
            message = link.receive(int(_PULL_S * 1000))
            if isinstance(message, Update):
                self._heard_at = time.monotonic()
                self._collector.take(message)
                time.sleep(_PULL_S)
                return

    def _look(self) -> Followed | None:
        """Judge what is there; None: go on."""
        now = time.monotonic()
        steps_s = self._collector.steps_s()
        block = block_length(self._collector.num_workers())
        assessment = assess(steps_s, block, self._se_wanted, self._caps)
        self._note_step(now)
        moment = self._moment(now, steps_s, block, assessment)
        self._progress(standing(moment, self._caps))
        over = self._collector.state in _ENDED
        end: End
        ended_by: EndedBy | None = None
        if self._cancelled():
            end, reason = "cancelled", None
        else:
            reason = self._reason_to_fail(now)
            ended_by = "itself" if over else self._ended_by(now, steps_s, moment)
            if reason is None and ended_by is None:
                return None
            reason = reason or self._too_short(steps_s, assessment, over=over)
            end = "failed" if reason else "enough"
        first = None if self._first_step_at is None else self._first_step_at - self._began
        return Followed(
            end,
            reason,
            over,
            self._collector,
            steps_s,
            block,
            assessment,
            first,
            moment.elapsed_s,
            ended_by,
            self._goal(now),
        )

    def _note_step(self, now: float) -> None:
        newest = self._collector.newest_step()
        if newest > self._newest:
            self._newest, self._newest_at = newest, now
            self._first_step_at = self._first_step_at or now

    def _moment(self, now: float, steps_s: list[float], block: int, assessment: Assessment) -> Moment:
        newest = steps_s[-_NEWEST:]
        from_launch_s = self._launched_s - self._began
        return Moment(
            steps=len(steps_s),
            step_s=sum(newest) / len(newest) if newest else None,
            used_s=usual_seconds(steps_s),
            block=block,
            found=assessment,
            se_goal=self._goal(now),
            elapsed_s=now + from_launch_s,
            first_step_s=None if self._first_step_at is None else self._first_step_at + from_launch_s,
        )

    def _ended_by(self, now: float, steps_s: list[float], moment: Moment) -> EndedBy | None:
        """Return what ends the launch now; None: it goes on."""
        if self._first_step_at is None:
            return None
        most_s = limit_s(moment, self._caps)
        if most_s is not None and moment.elapsed_s >= most_s:
            return "limit"
        if moment.since_s < self._caps.fewest_seconds:
            return None
        if self._is_known(now, moment.found):
            return "known"
        if self._has_had_its_steps(steps_s):
            return "limit"
        return "lost" if self._is_lost(moment) else None

    def _is_known(self, now: float, found: Assessment) -> bool:
        if found.enough:
            return True
        if found.estimate is None or not found.settled:
            return False
        self._ask_what_suffices(now)
        return found.estimate.se <= self._goal(now)

    def _has_had_its_steps(self, steps_s: list[float]) -> bool:
        most_s = self._caps.usual_seconds
        return len(steps_s) >= self._caps.steps or (most_s is not None and usual_seconds(steps_s) >= most_s)

    def _is_lost(self, moment: Moment) -> bool:
        """Tell whether no verdict can come of the launch however long it goes on."""
        return self._prospect is not None and is_out_of_reach(
            moment.found,
            moment.since_s,
            steps_left(moment, self._caps),
            self._caps,
            self._prospect,
            self._collector.foreign_cores(),
        )

    def _goal(self, now: float) -> float:
        """Return the standard error that is enough by now, in log units."""
        since_s = 0.0 if self._first_step_at is None else now - self._first_step_at
        ample_se = SE_CEILING if since_s >= self._caps.ample_seconds else 0.0
        return max(self._se_wanted, ample_se, self._promised_se)

    def _ask_what_suffices(self, now: float) -> None:
        """Ask now and then for the standard error that suffices for what this launch promises."""
        if self._promise is not None and now - self._promised_at >= _PROMISE_EVERY_S:
            self._promised_at, self._promised_se = now, self._promise(self._collector)

    def _reason_to_fail(self, now: float) -> str | None:
        reason = self._collector.why_not_applied(self._asked, final=self._settings_are_read(now))
        if reason is None and self._collector.state in _BROKEN and self._first_step_at is not None:
            return broken_words(self._collector.newest_step(), self._collector.message)
        if reason or self._collector.state in _ENDED:
            return reason
        if now - self._heard_at > _HUB_AWAY_S:
            return f"its hub has not answered for {now - self._heard_at:.0f} s"
        most_s = min(self._caps.start_seconds, self._caps.wall_seconds or self._caps.start_seconds)
        if self._first_step_at is None and now - self._began + self._launched_s > most_s:
            return f"no step within {most_s:.0f} s of its start"
        if self._first_step_at is not None and now - self._newest_at > self._caps.silent_seconds:
            return f"no new step for {now - self._newest_at:.0f} s"
        return None

    def _settings_are_read(self, now: float) -> bool:
        """Tell whether what has not been read back by now never will be."""
        if self._first_step_at is None or now - self._first_step_at < _SETTINGS_READ_AFTER_S:
            return False
        return self._collector.newest_step() >= _SETTINGS_READ_AFTER_STEPS

    def _too_short(self, steps_s: list[float], assessment: Assessment, *, over: bool) -> str | None:
        """Say why nothing can be made of a launch that is over or at its cap; None when something can."""
        if assessment.estimate is not None:
            return self._collector.why_not_applied(self._asked, final=True)
        needed = max(self._caps.fewest_steps, FEWEST_BLOCKS * block_length(self._collector.num_workers()))
        if over and not steps_s:
            return self._collector.message or "it ended before its first step"
        what = "it ended" if over else "its time was over"
        return f"{what} after {len(steps_s)} steps: {needed} steady ones are needed beside the warm-up"
