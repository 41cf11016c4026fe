"""How many batches a step takes nearly always, so that one fetched for nothing stands out. Pure.

Apart from the queue of batches because it is a judgement: a step may take more than the one before it and
give up none. Loaders that group (images by aspect ratio, texts packed into rows) ask for single samples until
a group is full: so many in one step, so many in the next.
"""

from typing import Final

_SURE: Final = 8
"""Steps alike, to begin with."""
_MOST: Final = 16
_UNLIKE: Final = 3
"""What an unlike step takes off: below three alike to each unlike one nothing is usual."""


class UsualShare:
    """Follows the steps of one loader."""

    __slots__ = ("_alike", "_backwards", "_batches", "_uneven")

    def __init__(self) -> None:
        self._batches: int = 0
        self._backwards: int = 0
        self._alike: int = 0
        """Steps alike, less three for each unlike one."""
        self._uneven = False
        """A step took less than is usual: then what others take more is none that was given up."""

    @property
    def one_each(self) -> bool:
        """Whether a step of one batch and one backward is like those before."""
        return self._batches == self._backwards == 1

    def note_one_each(self) -> None:
        """Note such a step; if `one_each`."""
        if self._alike < _MOST:
            self._alike += 1

    def note(self, batches: int, backwards: int) -> None:
        """Note what a step took."""
        if self._alike >= _SURE and batches < self._batches and self._ratio(batches, backwards) < 0:
            self._uneven = True
        if not (batches and backwards):
            return
        if batches == self._batches:
            self._alike = min(_MOST, self._alike + 1)
            self._backwards = min(self._backwards, backwards)  # a generator steps each third batch only
        elif self._alike > _UNLIKE:
            self._alike -= _UNLIKE
        else:
            self._batches, self._backwards, self._alike = batches, backwards, 1

    def exceeded(self, batches: int, backwards: int) -> bool:
        """Tell whether a step took a batch too many; never where several make one backward."""
        return (
            self._alike >= _SURE
            and not self._uneven
            and self._batches <= self._backwards
            and batches > self._batches
            and self._ratio(batches, backwards) > 0
        )

    def _ratio(self, batches: int, backwards: int) -> int:
        """Return a figure above 0 where a step has more batches a backward than usual, below if less."""
        return batches * self._backwards - backwards * self._batches
