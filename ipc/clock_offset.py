"""How far two hosts' wall clocks are apart, from messages that go there and back. Pure.

As NTP does it (RFC 5905, sections 8 and 10): with a request sent at t0, received at t1, answered at t2 and
the answer received at t3, the offset is ((t1 - t0) + (t2 - t3)) / 2, wrong by at most half the round trip,
however the two ways differ. Of the newest exchanges the one with the shortest round trip is believed, and its
error grows by 15 ppm of its age.
"""

from collections import deque
from typing import NamedTuple

_EXCHANGES = 32
_DRIFT = 15e-6


class ClockOffset(NamedTuple):
    """Times in ns."""

    offset_ns: int
    """The other clock less this one."""
    error_ns: int
    round_trip_ns: int


class _Exchange(NamedTuple):
    round_trip_ns: int
    offset_ns: int
    at_ns: int


class OffsetEstimate:
    """Keeps the newest exchanges."""

    def __init__(self) -> None:
        self._exchanges: deque[_Exchange] = deque(maxlen=_EXCHANGES)

    def add(self, sent_ns: int, received_ns: int, answered_ns: int, back_ns: int, at_ns: int) -> None:
        """Take one exchange in; one whose clocks were stepped meanwhile says nothing.

        Args:
            sent_ns: when the request left, by this clock (t0).
            received_ns: when it came, by the other (t1).
            answered_ns: when the answer left, by the other (t2).
            back_ns: when it came, by this one (t3).
            at_ns: now, by a clock that is never stepped.
        """
        round_trip_ns = (back_ns - sent_ns) - (answered_ns - received_ns)
        if round_trip_ns < 0:
            return
        offset_ns = ((received_ns - sent_ns) + (answered_ns - back_ns)) // 2
        best = self.best(at_ns)
        if best is not None and abs(offset_ns - best.offset_ns) > best.error_ns + round_trip_ns // 2 + 1:
            self._exchanges.clear()  # no drift explains it: one of the clocks was stepped
        self._exchanges.append(_Exchange(round_trip_ns, offset_ns, at_ns))

    def best(self, at_ns: int) -> ClockOffset | None:
        """Return what is believed at `at_ns`; None before the first exchange."""
        if not self._exchanges:
            return None
        found = min(self._exchanges, key=lambda each: each.round_trip_ns + 2 * _DRIFT * (at_ns - each.at_ns))
        error_ns = found.round_trip_ns // 2 + int(_DRIFT * max(0, at_ns - found.at_ns))
        return ClockOffset(found.offset_ns, error_ns, found.round_trip_ns)
