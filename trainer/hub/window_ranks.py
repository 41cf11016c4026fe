"""When a rank is not waited for any more: a window ends by itself, whatever becomes of a rank. Pure."""

from dataclasses import dataclass
from typing import NamedTuple

ACKNOWLEDGE_S = 10.0
SILENCE_S = 30.0
"""Stopping a capture holds the GIL for some microseconds an event, and the rank is silent meanwhile."""
ARMED_S = 120.0
RECORDING_S = 90.0
"""Longer than the rank's own limits."""
SAVING_S = 120.0


class Lost(NamedTuple):
    """Why a rank is given up."""

    state: str
    """As the window's result calls it: silent or aborted."""
    reason: str


class RankSeen(NamedTuple):
    """The state that a rank last told, and since when (monotonic)."""

    state: str
    since_s: float


@dataclass(frozen=True)
class RankLife:
    """How a rank stands."""

    state: str | None
    """As it last told of this window; None: nothing yet."""
    state_age_s: float
    """Since it told that; since the order, where it told nothing."""
    silent_s: float
    """Since its last frame, of whatever kind."""
    gone: bool
    """Its process has disappeared."""
    ended: bool
    """It has said goodbye."""
    step: int
    """Steps it has finished."""


def given_up(life: RankLife, start_step: int, expected_s: float, *, may_wait: bool) -> Lost | None:
    """Return why a rank that has not ended its window is not waited for any more; None: it is.

    Args:
        life: how it stands.
        start_step: the first step to record; negative: as soon as possible.
        expected_s: from the order to the first recorded step, as steps went then.
        may_wait: it may stay armed for as long as it likes (a window far ahead).
    """
    if life.gone:
        return Lost("aborted", "its process ended inside the window, without a word")
    if life.ended:
        return Lost("aborted", "its training ended")
    if life.silent_s > SILENCE_S:
        return Lost("silent", f"nothing was heard from it for {SILENCE_S:.0f} s")
    if life.state is None:
        late = life.state_age_s > ACKNOWLEDGE_S
        return Lost("silent", f"it did not answer within {ACKNOWLEDGE_S:.0f} s") if late else None
    if life.state == "armed":
        limit_s = ARMED_S + 3.0 * expected_s
        if may_wait or life.state_age_s <= limit_s:
            return None
        wanted = f"step {start_step}" if start_step >= 0 else "the next step"
        return Lost(
            "aborted",
            f"{wanted} did not come within {limit_s:.0f} s: it is still in step {life.step} "
            "(a validation, a checkpoint, or it hangs)",
        )
    limit_s = SAVING_S if life.state == "saving" else RECORDING_S
    if life.state_age_s > limit_s:
        return Lost("aborted", f"it was {life.state} for more than {limit_s:.0f} s, in step {life.step}")
    return None
