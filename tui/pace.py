"""How often a terminal is given a new picture: as often as it can take one, and no more. Pure.

Between the dashboard and the eye may lie a link of 20 kB/s whose buffers hold seconds of pictures. What
counts is therefore when the terminal has a picture, not when it was written. After that the link has a rest,
as long as the picture has kept it busy: a key pressed at any moment is answered at once half of the time, and
after one picture otherwise.
"""

from dataclasses import dataclass, replace
from statistics import median

_REST = 1.0
"""For each second that a picture has kept the link busy."""
_REST_MAX_S = 3.0
_PATIENCE_S = 10.0
"""After so long without an answer, one may have been lost."""
_SLOW_S, _QUICK_S = 0.75, 0.5
"""Between two pictures: from which time on it is told, and from which on no more."""
_KEPT = 5


@dataclass(frozen=True)
class Pace:
    """What the newest pictures have taught of the way to a terminal; times in s."""

    rest_s: float = 0.0
    """For the link, after the newest picture was there."""
    periods_s: tuple[float, ...] = ()
    """From picture to picture, the newest last."""
    told: bool = False
    """Whether the terminal is slow enough for that to be said."""


def delivered(pace: Pace, took_s: float, busy_s: float) -> Pace:
    """Return what is known once a picture is there.

    Args:
        pace: what was known.
        took_s: from handing the picture over to knowing that the terminal has it.
        busy_s: of that, the time that the picture itself kept the way busy; the rest is the way's length.
    """
    rest_s = min(_REST_MAX_S, _REST * busy_s)
    return _with_period(replace(pace, rest_s=rest_s), took_s + rest_s)


def given_up(pace: Pace) -> Pace:
    """Return what is known once a picture was not acknowledged for so long that the next one is sent."""
    return _with_period(replace(pace, rest_s=0.0), _PATIENCE_S)


def _with_period(pace: Pace, period_s: float) -> Pace:
    periods_s = (*pace.periods_s, period_s)[-_KEPT:]
    least_s = _QUICK_S if pace.told else _SLOW_S
    return replace(pace, periods_s=periods_s, told=len(periods_s) == _KEPT and median(periods_s) >= least_s)


def wait_s(pace: Pace, unanswered_s: float | None, since_s: float) -> float:
    """Return how long the next picture has to wait; 0: it is due.

    Args:
        pace: what is known.
        unanswered_s: for how long a picture has been on its way; None when none is.
        since_s: time since the last one was there.
    """
    if unanswered_s is not None:
        return max(0.0, _PATIENCE_S - unanswered_s)
    return max(0.0, pace.rest_s - since_s)


def slow_s(pace: Pace) -> int | None:
    """Return in how many seconds there is one picture; None while that is as often as there is news."""
    return max(1, round(median(pace.periods_s))) if pace.told else None
