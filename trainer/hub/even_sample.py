"""Every n-th of readings without number: enough for a mean over a whole run, in bounded memory."""

from typing import Generic, TypeVar

_Reading = TypeVar("_Reading")

_POINTS_MAX = 600


class EvenSample(Generic[_Reading]):
    """Readings at equal distances, from the first on: where there are too many, every second one stays.

    Args:
        most: how many are kept at most.
    """

    def __init__(self, most: int = _POINTS_MAX) -> None:
        self.kept: list[_Reading] = []
        """Oldest first."""
        self._most = most
        self._stride = 1
        self._seen = 0

    def add(self, reading: _Reading) -> None:
        """Take the next one in."""
        if self._seen % self._stride == 0:
            self.kept.append(reading)
            if len(self.kept) > self._most:
                self.kept = self.kept[::2]
                self._stride *= 2
        self._seen += 1
