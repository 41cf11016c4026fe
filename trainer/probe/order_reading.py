"""Which samples an epoch begins with: the indices of its first batches, noted as they pass by.

Nothing is drawn or consumed for it: what the loader takes from its sampler goes through a note for the first
batches of each iteration, which then steps aside. So a batch further on costs nothing.
"""

import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from perftui.trainer.probe.border import Foreign

_BATCHES = 32
_OF_EACH = 8
"""Indices of a batch that are looked at: a batch may be thousands."""
_LEAST = 4
"""Batches, with fewer of which an iteration tells nothing: a look at a loader."""
_LISTS = (list, tuple, range)
"""What may be looked into without being used up."""
_MAP_KIND = 0
"""torch's own number of a dataset that is asked by index."""
Note = Callable[[Foreign], bool]


class Dealt:
    """What one iteration has asked for so far."""

    def __init__(self) -> None:
        self.chain: list[int] = []
        """A checksum of all indices up to each batch."""
        self.samples: list[int] = []
        """How many indices that were."""
        self.rising = self.falling = True
        self._last: int | None = None

    def note(self, asked: Foreign) -> bool:
        """Take in what a loader asks for one batch; False: no more of them are wanted."""
        numbers = numbers_of(asked)
        if numbers is None:
            return False
        checksum = self.chain[-1] if self.chain else 0
        for number in numbers:
            if self._last is not None:
                self.rising &= number >= self._last
                self.falling &= number <= self._last
            self._last = number
        count = len(numbers) + (self.samples[-1] if self.samples else 0)
        self.samples.append(count)
        self.chain.append(zlib.crc32(repr(numbers).encode(), checksum))  # last: another thread reads it
        return len(self.chain) < _BATCHES


class OrderAlike(NamedTuple):
    """How often in a row, up to the newest, an iteration asked for the same samples in the same order."""

    times: int
    batches: int
    """From the beginning, of which that is known of all of them."""
    samples: int
    """Of these, that were looked at."""
    in_line: bool
    """Their indices only rise, or only fall."""


class _Known(NamedTuple):
    before: Dealt | None
    alike: OrderAlike | None
    now: Dealt


class OrderWatch:
    """The iterations of one loader; what is known is put there at once, so that another thread may read."""

    def __init__(self) -> None:
        self._known = _Known(None, None, Dealt())

    def begin(self) -> Dealt:
        """An iteration begins."""
        dealt = Dealt()
        if len(self._known.now.chain) >= _LEAST:
            self._known = _Known(self._known.now, self.alike(), dealt)
        else:
            self._known = self._known._replace(now=dealt)
        return dealt

    def alike(self) -> OrderAlike | None:
        """Return what is known of the newest iterations; None: none has gone far enough."""
        before, alike, now = self._known
        if len(now.chain) < _LEAST:
            return alike
        common = len(now.chain) if before is None else min(len(now.chain), len(before.chain))
        alone = OrderAlike(1, common, now.samples[common - 1], now.rising or now.falling)
        if before is None or alike is None or before.chain[common - 1] != now.chain[common - 1]:
            return alone
        batches = min(common, alike.batches)
        return OrderAlike(alike.times + 1, batches, now.samples[batches - 1], alone.in_line)


class _Passing:
    """Stands for the sampler's iterator until enough has passed."""

    __slots__ = ("_dealing", "_note", "_whose")

    def __init__(self, dealing: Iterator[Foreign], whose: Foreign, note: Note) -> None:
        self._dealing = dealing
        self._whose = weakref.ref(whose)  # else the loader's iterator would not end its workers when let go
        self._note = note

    def __iter__(self) -> Iterator[Foreign]:
        return self

    def __next__(self) -> Foreign:
        asked = next(self._dealing)
        if not self._note(asked):
            whose = self._whose()
            if whose is not None and whose._sampler_iter is self:
                whose._sampler_iter = self._dealing
        return asked


def let_pass(iterator: Foreign, note: Note) -> None:
    """Note what an iterator of torch's loader, about to take indices, takes from its sampler.

    Args:
        iterator: for which `asks_by_index` holds.
        note: given each batch's indices; what is not true ends it. Must not raise.
    """
    iterator._sampler_iter = _Passing(iterator._sampler_iter, iterator, note)


def asks_by_index(iterator: Foreign) -> bool:
    """Tell whether an iterator of torch's loader asks its dataset by indices, and none are noted yet."""
    held: Foreign = vars(iterator)
    dealing = held.get("_sampler_iter")
    return held.get("_dataset_kind") == _MAP_KIND and dealing is not None and type(dealing) is not _Passing


def numbers_of(asked: Foreign) -> list[int] | None:
    """Return the first indices of a batch; None where they are no numbers, or looking would use them up."""
    kind: type[Foreign] = type(asked)
    if (kind is torch.Tensor and asked.ndim) or (kind.__module__ == "numpy" and kind.__name__ == "ndarray"):
        if asked.ndim != 1 or (kind is torch.Tensor and asked.device.type != "cpu"):
            return None
        found = asked[:_OF_EACH].tolist()
    elif kind in _LISTS:
        found = [_number(each) for each in asked[:_OF_EACH]]
    else:
        found = [_number(asked)]
    return found if all(type(each) is int for each in found) else None


def _number(index: Foreign) -> Foreign:
    """Return an index as Python has it; what is none is told by its type."""
    kind: type[Foreign] = type(index)
    if kind is torch.Tensor:
        return index.tolist() if index.ndim == 0 and index.device.type == "cpu" else None
    if kind is int:
        return index
    return int(index) if kind.__module__ == "numpy" and "int" in kind.__name__ else None
