"""How a launch stands: how far it is, how long it may go on, and why it does. Pure."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perftui.ipc.view import LaunchProgress
from perftui.trainer.tuning.enough import SE_CEILING, Assessment
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import steps_lacking
from perftui.trainer.tuning.regression import Label
from perftui.trainer.tuning.steady import FEWEST_BLOCKS
from perftui.trainer.tuning.wording import fine_percent

Stage: TypeAlias = Literal["starting", "warming", "measuring"]
_WARMING_BLOCKS = 2
"""Steady ones from which on a launch is measured and no longer warms up."""


@dataclass(frozen=True)
class Moment:
    """What is known of a launch at one look."""

    steps: int
    """So far, unusual ones left out."""
    step_s: float | None
    """Mean of the newest ones."""
    used_s: float
    """Of steps alone (`enough.usual_seconds`)."""
    block: int
    found: Assessment
    se_goal: float
    """The standard error that is enough by now, in log units."""
    elapsed_s: float
    """From its launch on."""
    first_step_s: float | None
    """From its launch to its first step; None before."""

    @property
    def since_s(self) -> float:
        """Seconds since the first step."""
        return 0.0 if self.first_step_s is None else self.elapsed_s - self.first_step_s


@dataclass(frozen=True)
class Standing:
    """A launch as it goes, for who looks at it."""

    stage: Stage
    steps: int
    step_ms: float | None
    elapsed_s: float
    """From its launch on."""
    limit_s: float | None
    """When it ends, whatever it is known to by then, counted likewise; None: nobody knows yet."""
    share: float
    """About how much of it is over, 0 to 1."""
    why: str | None
    """Why it goes on, though it has steps enough."""


def limit_s(now: Moment, caps: Caps) -> float | None:
    """Return the seconds from its launch after which a launch ends, whatever it is known to."""
    limits = [] if caps.wall_seconds is None else [caps.wall_seconds]
    if now.first_step_s is not None:
        limits.append(now.first_step_s + caps.seconds)
    return min(limits, default=None)


def steps_left(now: Moment, caps: Caps) -> float:
    """Return about how many more steps its limits leave a launch."""
    left = float(max(0, caps.steps - now.steps))
    most_s, step_s = limit_s(now, caps), now.step_s
    if not step_s:
        return left
    if most_s is not None:
        left = min(left, max(0.0, most_s - now.elapsed_s) / step_s)
    if caps.usual_seconds is not None:
        left = min(left, max(0.0, caps.usual_seconds - now.used_s) / step_s)
    return left


def seconds_left(now: Moment, caps: Caps) -> float | None:
    """Return about how long a launch will still go on; None: nobody knows before its first step."""
    most_s = limit_s(now, caps)
    if now.first_step_s is None or not now.step_s:
        return None if most_s is None else max(0.0, most_s - now.elapsed_s)
    fewest = max(caps.fewest_steps, FEWEST_BLOCKS * now.block)
    left_s = steps_lacking(now.found, now.se_goal, fewest) * now.step_s
    if now.se_goal < SE_CEILING:
        ample_s = max(0.0, caps.ample_seconds - now.since_s)
        left_s = min(left_s, max(ample_s, steps_lacking(now.found, SE_CEILING, fewest) * now.step_s))
    left_s = min(left_s, steps_left(now, caps) * now.step_s)
    return max(left_s, caps.fewest_seconds - now.since_s)


def standing(now: Moment, caps: Caps) -> Standing:
    """Return how a launch stands.

    Args:
        now: what is known of it.
        caps: how long it may go on.
    """
    left_s = seconds_left(now, caps)
    whole_s = None if left_s is None else now.elapsed_s + left_s
    return Standing(
        stage=_stage(now),
        steps=now.steps,
        step_ms=None if now.step_s is None else 1000 * now.step_s,
        elapsed_s=now.elapsed_s,
        limit_s=limit_s(now, caps),
        share=now.elapsed_s / whole_s if whole_s else 0.0,
        why=_why(now, caps),
    )


def _stage(now: Moment) -> Stage:
    if now.first_step_s is None:
        return "starting"
    return "measuring" if now.found.steady_steps >= _WARMING_BLOCKS * now.block else "warming"


def _why(now: Moment, caps: Caps) -> str | None:
    found = now.found
    if _stage(now) != "measuring":
        return None
    if found.estimate is None:
        fewest = max(caps.fewest_steps, FEWEST_BLOCKS * now.block)
        return f"{found.steady_steps} of {fewest} steady steps"
    if found.estimate.se > now.se_goal:
        wander = math.sqrt(found.estimate.blocks) * found.estimate.se
        known, goal = (fine_percent(each, signed=False) for each in (found.estimate.se, now.se_goal))
        return (
            f"steps wander by {fine_percent(wander, signed=False)}: more of them are needed "
            f"(known to {known}, {goal} is enough)"
        )
    if not found.settled:
        return "the step time still changes: it is measured until it no longer does"
    return None


def time_words(elapsed_s: float, most_s: float | None) -> str:
    """Return `2:10 of at most 4:00`."""
    most = "" if most_s is None else f" of at most {int(most_s) // 60}:{int(most_s) % 60:02}"
    return f"{int(elapsed_s) // 60}:{int(elapsed_s) % 60:02}{most}"


def going_words(now: Standing) -> str:
    """Return how a launch stands in one line."""
    stage = "warming up" if now.stage == "warming" else now.stage
    speed = "" if now.step_ms is None else f", {now.step_ms:.3g} ms a step"
    why = "" if now.why is None else f" · {now.why}"
    return f"{stage}, {now.steps} steps{speed} · {time_words(now.elapsed_s, now.limit_s)}{why}"


def told_progress(label: Label, now: Standing) -> LaunchProgress:
    """Return how a launch stands as dashboards are told."""
    return LaunchProgress(
        label=label,
        state=now.stage,
        steps=now.steps,
        step_ms=now.step_ms,
        elapsed_s=now.elapsed_s,
        limit_s=now.limit_s,
        share=now.share,
        why=now.why,
    )
