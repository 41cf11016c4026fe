"""What the hooks cost the training thread, measured in it.

Apart from the ring because it decides which stamps: one of many, so that measuring costs nothing itself.
"""

from collections import deque
from typing import Final

EVERY_STAMPS: Final = 61
"""A prime, counted in stamps at which a step may begin: both kinds of a step's are measured equally often."""
_KEPT = 256
_SHARE_KEPT = 0.9
_MEASURED_LEAST = 10
"""Of a kind: among fewer, one during which the thread lost its core would not be left out."""
_FROM_STAMP = 100
"""The first stamps run into cold code, once."""


class OwnCost:
    """Keeps the times of the newest measured stamps, apart those that ask for CPU time: a system call.

    Attributes:
        next_stamp: number of the stamp that is measured next.
    """

    def __init__(self) -> None:
        self.next_stamp = _FROM_STAMP
        self._plain_ns: deque[int] = deque(maxlen=_KEPT)
        self._with_cpu_ns: deque[int] = deque(maxlen=_KEPT)

    def note(self, number: int, took_ns: int, *, with_cpu: bool) -> None:
        """A stamp took so long; it counts if it is one of those to measure."""
        if number >= self.next_stamp:
            self.next_stamp = number + EVERY_STAMPS
            (self._with_cpu_ns if with_cpu else self._plain_ns).append(took_ns)

    def total_ns(self, stamps: int, steps: int) -> int | None:
        """Return the time of so many stamps, of which one a step asked for CPU time; None for few measured.

        By the means of those measured; where only one kind was, it stands for both. The longest tenth is left
        out: there the thread was taken off its core, which is not our doing.
        """
        plain_ns, with_cpu_ns = _usual_mean(self._plain_ns.copy()), _usual_mean(self._with_cpu_ns.copy())
        if plain_ns is None or with_cpu_ns is None:
            known_ns = with_cpu_ns if plain_ns is None else plain_ns
            return None if known_ns is None else round(known_ns * stamps)
        return round(plain_ns * (stamps - steps) + with_cpu_ns * steps)


def _usual_mean(measured_ns: deque[int]) -> float | None:
    if len(measured_ns) < _MEASURED_LEAST:
        return None
    kept = sorted(measured_ns)[: round(len(measured_ns) * _SHARE_KEPT)]
    return sum(kept) / len(kept)
