"""When a live run is judged: once a second, in bounded turns, and less often where that takes long."""

import time
from collections.abc import Callable

from perftui.trainer.diagnosis.in_parts import Parts

_EVERY_S = 1.0
_TURN_S = 0.015
"""Dashboards and ranks wait for the end of a turn."""
_REST = 7.0
"""After a look the judge rests so many times as long as it has worked: an eighth of a core at most."""


class TimedLooks:
    """Looks at one run, one after the other."""

    def __init__(self) -> None:
        self._look: Parts[bool] | None = None
        self._next_s = 0.0
        self._worked_s = 0.0

    def turn(self, begin: Callable[[], Parts[bool]]) -> bool:
        """Go on with the look that is under way, or begin one if it is due; True when it has ended."""
        now = time.monotonic()
        if self._look is None:
            if now < self._next_s:
                return False
            self._look, self._worked_s, self._next_s = begin(), 0.0, now + _EVERY_S
        ended = self._work(self._look, now + _TURN_S)
        self._worked_s += time.monotonic() - now
        if ended:
            self._look = None
            self._next_s = max(self._next_s, time.monotonic() + _REST * self._worked_s)
        return ended

    def _work(self, look: Parts[bool], until_s: float) -> bool:
        try:
            while time.monotonic() < until_s:
                next(look)
        except StopIteration:
            return True
        return False
