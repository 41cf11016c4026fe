"""Which batches a step trained on: not those fetched in it, where a loader is read ahead.

accelerate, the Trainer of transformers, Lightning and many a prefetcher ask for the next batch before they
train on the last one: `F F B O | F B O | … | end B O`. So batches queue up here, and a step takes from the
queue; how many it leaves there is how far the loader is read ahead.
"""

from collections import deque
from typing import NamedTuple

from perftui.trainer.probe.usual_share import UsualShare

ENDLESS = 1 << 62


class Taken(NamedTuple):
    """What a step took from the queue."""

    sizes: list[int]
    """Samples of its batches; -1 for a batch that gives no size."""
    given_up: bool
    """There were more than its backwards need: one was fetched and not trained on."""
    epoch_begins: bool
    """They reach beyond the loader's length: its one iterator lasts over epochs."""


class BatchesAhead:
    """The batches of one training loader that were fetched and not trained on yet.

    Attributes:
        ended: the iterator was found empty: steps take what is left.
    """

    def __init__(self) -> None:
        self.ended = False
        self._sizes: deque[int] = deque()
        self._lead: int | None = None
        """How many are left when a step ends; None before the first one of an iterator."""
        self._usual: tuple[int, int] | None = None
        """Batches and backwards of the last step that had both."""
        self._habit = UsualShare()
        self._came = 0
        """Batches since the last step's end."""
        self._first: tuple[int, int] | None = None
        """Batches that came and backwards of the very first step, as long as its share is a guess."""
        self._length: int | None = None
        self._trained = 0
        self._beyond = self._distrusted = False

    def renew(self, length: int | None) -> None:
        """A new iterator: what the last one left was given up.

        Args:
            length: batches of an epoch, as the loader says; None where it does not.
        """
        if self._beyond and self._trained != self._length:
            self._distrusted = True  # it went past its length and ended elsewhere: that is none
        self._length = None if self._distrusted else length or None
        self._trained = self._came = 0
        self._beyond = self.ended = False
        self._lead = self._first = None
        self._sizes.clear()

    def add(self, sizes: list[int]) -> None:
        """Batches have come."""
        self._sizes.extend(sizes)
        self._came += len(sizes)

    @property
    def room(self) -> int:
        """How many batches can be trained on before the next epoch, if no new iterator begins one."""
        return ENDLESS if self._length is None else self._length - self._trained

    @property
    def regular(self) -> bool:
        """Whether steps of one batch and one backward leave everything as it is: see `turn`."""
        return (
            self._lead == len(self._sizes)
            and self._usual == (1, 1)
            and self._habit.one_each
            and self._first is None
            and not (self.ended or self._came)
        )

    def turn(self, size: int) -> int:
        """A batch comes and one is trained on: return the samples of that one; if `regular`, with `room`."""
        self._trained += 1
        self._habit.note_one_each()
        self._sizes.append(size)
        return self._sizes.popleft()

    def take(self, backwards: int, optimizers: int) -> Taken:
        """A step ends, or its part of this iterator.

        Args:
            backwards: how many it had.
            optimizers: how many have stepped.
        """
        came, self._came = self._came, 0
        if self._lead is None or self.ended:
            count = needed = self._first_share(came, backwards, optimizers)
            given_up = False
        else:
            count, needed, given_up = self._share(came, backwards)
            self._habit.note(needed, backwards)
        self._lead = len(self._sizes) - count
        if needed and backwards:
            self._usual = (needed, backwards)
        return Taken([self._sizes.popleft() for _ in range(count)], given_up, self._count(count))

    def _first_share(self, came: int, backwards: int, optimizers: int) -> int:
        """Return how many batches are the step's when it is not known how far the loader is read ahead."""
        if self._usual is not None:
            usual_batches, usual_backwards = self._usual
            share = backwards * usual_batches // usual_backwards
        else:
            share = backwards // max(1, optimizers)  # as in a GAN: a backward for each optimizer
            self._first = (came, backwards)
        return min(len(self._sizes), max(1, share))

    def _share(self, came: int, backwards: int) -> tuple[int, int, bool]:
        """Return how many batches are the step's, how many it needs, and whether one was given up."""
        waiting, lead = len(self._sizes), self._lead or 0
        if self._first is not None and came:
            first_came, first_backwards = self._first
            self._first = None
            if backwards == first_backwards and came <= first_came:
                # what comes in the second step is what one needs: the rest of the first one's was ahead
                return max(0, waiting - (first_came - came)), came, False
        count = waiting - lead
        return count, count, self._habit.exceeded(count, backwards)

    def _count(self, batches: int) -> bool:
        """Tell whether these batches reach beyond the length: then the iterator lasts over epochs."""
        self._trained += batches
        if self._length is None or self._trained <= self._length:
            return False
        self._trained = (self._trained - 1) % self._length + 1
        self._beyond = True
        return True
