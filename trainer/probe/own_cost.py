"""What the hooks cost the training thread, measured in it.

Apart from the ring because it decides which stamps: one of many, so that measuring costs nothing itself.
"""

from typing import Final

EVERY_STAMPS: Final = 61
"""A prime: over many steps every hook of a step is measured equally often."""
_FROM_STAMP = 100
"""The first stamps run into cold code, once."""


class OwnCost:
    """Sums the time of the measured stamps.

    Attributes:
        next_stamp: number of the stamp that is measured next.
    """

    def __init__(self) -> None:
        self.next_stamp = _FROM_STAMP
        self._measured = 0
        self._measured_ns = 0

    def note(self, number: int, took_ns: int) -> None:
        """A stamp took so long; it counts if it is one of those to measure."""
        if number >= self.next_stamp:
            self.next_stamp = number + EVERY_STAMPS
            self._measured += 1
            self._measured_ns += took_ns

    def total_ns(self, stamps: int) -> int | None:
        """Return the time of so many stamps, by the mean of those measured; None before the first."""
        return round(self._measured_ns / self._measured * stamps) if self._measured else None
