"""What a loader's batches take to make: fetching samples and putting them together, each timed.

In a forked worker, or in the training thread where there are no workers. Sums go to memory that the parent
shares with its workers: no lock, no queue, one row for each worker, which it alone adds to. Workers that are
started in another way do not have that memory; a loader that collates nothing (`batch_size=None`), a fetcher
that is not torch's and a loader of another kind are not timed either: nothing is told of them, not 0.
"""

import functools
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from types import FunctionType, MethodType
from typing import TypeAlias

from torch.utils.data import get_worker_info
from torch.utils.data._utils import fetch as fetch_module

from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.untraced import untraced

_LOADERS = 16
_WORKERS = 128
"""Of each loader; what further ones do is not told."""
_FETCH, _COLLATE, _ROW = 1, 2, 3
"""Places in a row of doubles: a count of batches, and ns."""
_NAME_KEPT = 100
_KEY = "_perftui_making"
_BASE = "_BaseDatasetFetcher"
_KINDS = ("_MapDatasetFetcher", "_IterableDatasetFetcher")
"""Private, and the same since torch 1.2."""
NOT_TIMED = (
    "batches of the training loader were not timed: made in workers that are not forked, without a collate "
    "function, by a loader of another kind, or none yet"
)
_Sums: TypeAlias = "memoryview[float]"


class BatchMaking:
    """Sums of one process and of its forked workers, by the index of the loader."""

    def __init__(self) -> None:
        self._here = _Making()
        self._sums: _Sums | None = None
        self._owner = 0
        """Process whose loaders these are; a forked one begins anew."""
        self._names: dict[int, str] = {}

    def begin(self, index: int, collate: Foreign) -> int:
        """This thread makes an iterator of a loader; workers that it forks meanwhile are the loader's.

        Args:
            index: of the loader.
            collate: its `collate_fn`.

        Returns:
            What `end` is to be given: loaders may be made within loaders, and in workers.
        """
        here = self._here
        before, here.index = here.index, -1
        if 0 <= index < _LOADERS and get_worker_info() is None:
            if self._sums is None or self._owner != os.getpid():
                size = _LOADERS * _WORKERS * _ROW * 8
                self._sums, self._owner = memoryview(mmap.mmap(-1, size)).cast("d"), os.getpid()
            here.index = index
            self._names[index] = _name_of(collate)
        return before

    def end(self, before: int | None) -> None:
        """It has made it; None: its beginning failed."""
        self._here.index = -1 if before is None else before

    def watch(self, fetcher: Foreign) -> None:
        """Time a fetcher of torch's that was just built."""
        index, sums, kind = self._here.index, self._sums, type(fetcher)
        if sums is None or index < 0 or not fetcher.auto_collation:
            return
        info = get_worker_info()
        worker = 0 if info is None else info.id
        if kind.__name__ in _KINDS and kind.__module__ == fetch_module.__name__ and worker < _WORKERS:
            timed = _Timed(fetcher.collate_fn, sums, (index * _WORKERS + worker) * _ROW)
            fetcher.collate_fn = timed.collate
            fetcher.__dict__[_KEY] = timed

    def read(self, index: int | None) -> tuple[LoadingFacts | None, str | None]:
        """Return what the batches of a loader have taken so far, or None with the reason."""
        sums = self._sums
        if index is None or sums is None or self._owner != os.getpid() or not 0 <= index < _LOADERS:
            return None, NOT_TIMED
        begin, end = index * _WORKERS * _ROW, (index + 1) * _WORKERS * _ROW
        batches, fetch_ns, collate_ns = (sum(sums[begin + place : end : _ROW]) for place in range(_ROW))
        if not batches:
            return None, NOT_TIMED
        return LoadingFacts(
            loader=index,
            batches=round(batches),
            fetch_s=fetch_ns / 1e9,
            collate_s=collate_ns / 1e9,
            collate=self._names.get(index, ""),
        ), None


def _name_of(collate: Foreign) -> str:
    """Return the name of a function, or of the class of anything else that is called; no code of it runs."""
    kind: type[Foreign] = type(collate)
    if kind is functools.partial:
        return _name_of(collate.func)
    return str(collate.__qualname__ if kind in (FunctionType, MethodType) else kind.__qualname__)[:_NAME_KEPT]


class _Making(threading.local):
    """In a worker as in its parent: what the thread was at that forked it."""

    index = -1


class _Timed:
    """Times of one fetcher.

    Args:
        collate: puts samples together.
        sums: where to add.
        row: its place there.
    """

    __slots__ = ("_collate", "_row", "_sums", "begin_ns")

    def __init__(self, collate: Callable[[Foreign], Foreign], sums: _Sums, row: int) -> None:
        self._collate = collate
        self._sums = sums
        self._row = row
        self.begin_ns = 0
        """When the batch began that is being fetched; 0: none is."""

    def collate(self, samples: Foreign) -> Foreign:
        """Put samples together: the last thing that a fetcher does for a batch."""
        fetched_ns = perf_counter_ns()
        batch = self._collate(samples)
        if self.begin_ns:
            sums, row = self._sums, self._row
            sums[row] += 1
            sums[row + _FETCH] += fetched_ns - self.begin_ns
            sums[row + _COLLATE] += perf_counter_ns() - fetched_ns
            self.begin_ns = 0
        return batch


def patch_fetchers(watches: Sequence[Callable[[Foreign], object]]) -> None:
    """Have torch's fetchers watched and timed.

    By their class, as an object that held its own method for long would be a cycle.

    Args:
        watches: called with each that was just built; must not raise.
    """
    base: Foreign = vars(fetch_module)[_BASE]
    build: Callable[..., None] = base.__init__

    @functools.wraps(build)
    def built(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        build(self, *args, **kwargs)
        for watch in watches:
            watch(self)

    base.__init__ = built
    for name in _KINDS:
        _patch_fetch(vars(fetch_module)[name])


def _patch_fetch(kind: Foreign) -> None:
    original: Callable[..., Foreign] = kind.fetch

    @untraced
    @functools.wraps(original)
    def fetch(self: Foreign, indices: Foreign) -> Foreign:
        timed: _Timed | None = self.__dict__.get(_KEY)
        if timed is not None:
            timed.begin_ns = perf_counter_ns()
        return original(self, indices)

    kind.fetch = fetch
