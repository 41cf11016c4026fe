"""What the hooks cost the training thread, measured in it.

Apart from the ring because it decides which stamps: one of many, so that measuring costs nothing itself.
"""

from collections import deque
from typing import Final

EVERY_STAMPS: Final = 61
"""A prime: over many steps every hook of a step is measured equally often."""
_KEPT = 256
_SHARE_KEPT = 0.9
_FROM_STAMP = 100
"""The first stamps run into cold code, once."""


class OwnCost:
    """Keeps the times of the newest measured stamps.

    Attributes:
        next_stamp: number of the stamp that is measured next.
    """

    def __init__(self) -> None:
        self.next_stamp = _FROM_STAMP
        self._measured_ns: deque[int] = deque(maxlen=_KEPT)

    def note(self, number: int, took_ns: int) -> None:
        """A stamp took so long; it counts if it is one of those to measure."""
        if number >= self.next_stamp:
            self.next_stamp = number + EVERY_STAMPS
            self._measured_ns.append(took_ns)

    def total_ns(self, stamps: int) -> int | None:
        """Return the time of so many stamps, by the mean of those measured; None before the first.

        The longest tenth is left out: there the thread was taken off its core, which is not our doing.
        """
        ordered = sorted(self._measured_ns.copy())
        kept = ordered[: max(1, round(len(ordered) * _SHARE_KEPT))]
        return round(sum(kept) / len(kept) * stamps) if kept else None
