"""How the workers of a loader begin: each tells a checksum of each random generator, and how long it took.

torch seeds random, NumPy and itself otherwise in each worker, and calls the script's `worker_init_fn` then,
which may undo that; of generators that the script keeps it knows nothing. A worker tells once it is prepared,
and of the script's own generators again around its first fetches, until one has been drawn from. After that
its fetches are torch's own again. Between the describing of a worker to itself and its first fetcher torch
calls `worker_init_fn` and nothing else: so that is timed without standing before a function of the script's.

Told in memory that is shared: a forked worker has it, one that is started in another way opens it by the
process that started it. A place in it is found by the worker's pid.
"""

import mmap
import multiprocessing
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch
from torch.utils.data import get_worker_info
from torch.utils.data._utils import worker as worker_module

from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.copied_generators import GENERATORS_TOLD, KeyedGenerator, generators_here
from perftui.trainer.probe.generator_states import state_of, state_of_numpy, state_of_random

_SLOTS = 1024
"""Pids are given in turn: so many workers may live before two share a place, of which one is not told."""
_HEAD = struct.Struct("<6Id")
"""Pid, what is known, checksums of random, NumPy and torch, count of the script's own, seconds."""
_EACH = struct.Struct("<4I")
"""Key, checksum at the first fetch, checksum now, whether it was drawn from."""
_SLOT_BYTES = _HEAD.size + GENERATORS_TOLD * _EACH.size
_GLOBALS, _WITH_NUMPY, _FETCHED, _TIMED = 1, 2, 4, 8
_FETCHES_WATCHED = 16
_FETCH = "fetch"


class GeneratorTold(NamedTuple):
    """One generator of the script's in one worker."""

    begun: int
    """Checksum as the first fetch began."""
    now: int
    """Checksum after the last fetch that was watched."""
    drawn: bool
    """Whether a fetch has moved it on."""


class WorkerTold(NamedTuple):
    """What one worker has told."""

    random: int
    numpy: int | None
    torch: int
    generators: dict[int, GeneratorTold] | None
    """By key; None: it has not fetched yet."""
    prepared_s: float | None = None
    """Seconds that the script's `worker_init_fn` took; next to none without one. None: not timed."""


class StatesPage:
    """The memory that a process and the workers of its loaders share."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def write(self, pid: int, told: WorkerTold) -> None:
        """Tell of a worker; called in it."""
        at = _place(pid)
        entries = list((told.generators or {}).items())[:GENERATORS_TOLD]
        for number, (key, each) in enumerate(entries):
            _EACH.pack_into(self._memory, at + _HEAD.size + number * _EACH.size, key, *each)
        known = _GLOBALS | (0 if told.numpy is None else _WITH_NUMPY)
        known |= 0 if told.generators is None else _FETCHED
        known |= 0 if told.prepared_s is None else _TIMED
        checksums = told.random, told.numpy or 0, told.torch
        _HEAD.pack_into(self._memory, at, pid, known, *checksums, len(entries), told.prepared_s or 0.0)

    def read(self, pid: int) -> WorkerTold | None:
        """Return what a worker has told; None: nothing."""
        at = _place(pid)
        whose, known, of_random, of_numpy, of_torch, count, took_s = _HEAD.unpack_from(self._memory, at)
        if whose != pid or not known:
            return None
        rows = [
            _EACH.unpack_from(self._memory, at + _HEAD.size + number * _EACH.size) for number in range(count)
        ]
        own = {key: GeneratorTold(begun, now, bool(drawn)) for key, begun, now, drawn in rows}
        return WorkerTold(
            of_random,
            of_numpy if known & _WITH_NUMPY else None,
            of_torch,
            own if known & _FETCHED else None,
            took_s if known & _TIMED else None,
        )


def _place(pid: int) -> int:
    return pid % _SLOTS * _SLOT_BYTES


class WorkerStates:
    """Of one process and the workers of its loaders; lives on both sides.

    Args:
        border: what goes wrong in a worker is kept there.
    """

    def __init__(self, border: Border) -> None:
        self._guard = border.guard
        self.page: StatesPage | None = None
        """None before a loader has had workers that tell."""
        self._owner = 0
        """Process whose loaders tell there; a forked one begins anew."""
        self._teller = 0
        """Process that has told: a worker that stays makes a fetcher for each epoch."""
        self._begun_s: float | None = None

    def begin(self, loader: Foreign) -> None:
        """A loader is about to start its workers; one alone tells only how long the script prepares it."""
        fewest = 2 if vars(loader).get("worker_init_fn") is None else 1
        if loader.num_workers < fewest or get_worker_info() is not None:
            return
        if self.page is not None and self._owner == os.getpid():
            return
        self.page, self._owner = StatesPage(_new_memory()), os.getpid()

    def prepare(self) -> None:
        """The script is about to prepare this worker."""
        self._begun_s = perf_counter()

    def watch(self, fetcher: Foreign) -> None:
        """Tell of this worker, prepared by now, as its first fetcher is built; and of its first fetches."""
        prepared_s = None if self._begun_s is None else perf_counter() - self._begun_s
        info, here = get_worker_info(), os.getpid()
        if info is None or self._teller == here:
            return
        if fetcher.dataset is not info.dataset:  # of a loader within the dataset
            return
        self._teller = here
        starter = _started_by()
        forked = self.page is not None and self._owner == starter
        page = self.page if forked else _memory_of(starter)
        if page is None:
            return
        told = WorkerTold(state_of_random(), state_of_numpy(), torch.initial_seed() % 2**32, None, prepared_s)
        page.write(here, told)
        if info.num_workers < 2:  # like no other
            return
        first = _FirstFetches(fetcher, page, told, forked=forked)
        begin, end = (self._guard("worker states", each) for each in (first.begin, first.end))
        fetcher.__dict__[_FETCH] = partial(_fetch, fetcher, begin, end)


class _FirstFetches:
    """Stands before a fetcher's own `fetch` until what it watches was drawn from.

    Args:
        fetcher: of torch, just built.
        page: where to tell.
        told: what was told already.
        forked: this process has a copy of all memory of its parent.
    """

    def __init__(self, fetcher: Foreign, page: StatesPage, told: WorkerTold, *, forked: bool) -> None:
        self._fetcher = fetcher
        self._roots = fetcher.dataset, fetcher.collate_fn
        self._page = page
        self._told = told
        self._forked = forked
        self._found: list[KeyedGenerator] | None = None
        self._left = _FETCHES_WATCHED

    def begin(self) -> None:
        """Find what this worker has, and tell its states, before the first fetch."""
        if self._found is not None:
            return
        self._found = []
        self._found = list(generators_here(self._roots, forked=self._forked))
        states = {each.key: state_of(each.value) for each in self._found}
        own = {
            key: GeneratorTold(state, state, drawn=False)
            for key, state in states.items()
            if state is not None
        }
        self._told = self._told._replace(generators=own)
        self._page.write(os.getpid(), self._told)

    def end(self) -> None:
        """Tell what a fetch has moved; leave the fetcher alone where there is no more to be seen."""
        own = self._told.generators or {}
        for each in self._found or ():
            before, now = own.get(each.key), state_of(each.value)
            if before is not None and now is not None:
                own[each.key] = before._replace(now=now, drawn=now != before.begun)
        self._page.write(os.getpid(), self._told)
        self._left -= 1
        if self._left <= 0 or all(each.drawn for each in own.values()):
            self._fetcher.__dict__.pop(_FETCH, None)


def _fetch(
    fetcher: Foreign, begin: Callable[[], object], end: Callable[[], object], indices: Foreign
) -> Foreign:
    """Fetch as the fetcher does, and look before and after."""
    begin()
    batch = type(fetcher).fetch(fetcher, indices)
    end()
    return batch


def alike(told: Sequence[WorkerTold | None]) -> list[str] | None:
    """Return the global generators that all workers have in the same state; None: not all have told."""
    rows = [each for each in told if each is not None]
    if len(rows) < max(2, len(told)):
        return None
    names = ["random", *(() if any(each.numpy is None for each in rows) else ("numpy",)), "torch"]
    return [name for name in names if len({getattr(each, name) for each in rows}) == 1]


def longest_s(told: Sequence[WorkerTold | None]) -> float | None:
    """Return for how many seconds the script prepared the slowest worker; None: none has told yet."""
    timed = [each.prepared_s for each in told if each is not None and each.prepared_s is not None]
    return max(timed, default=None)


def patch_workers(prepare: Callable[[], object]) -> None:
    """Have it known when torch has described a worker to itself, right before the script prepares it.

    Args:
        prepare: called then; must not raise.
    """
    kind: Foreign = worker_module.WorkerInfo
    describe: Callable[..., None] = kind.__init__

    @wraps(describe)
    def described(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        describe(self, *args, **kwargs)
        prepare()

    kind.__init__ = described


def _new_memory() -> mmap.mmap:
    size = _SLOTS * _SLOT_BYTES
    try:
        file = os.memfd_create(_name_of(os.getpid()))  # stays open: workers find it among the open files
        os.truncate(file, size)
        return mmap.mmap(file, size)
    except (OSError, AttributeError):  # not allowed here: only forked workers will tell
        return mmap.mmap(-1, size)


def _started_by() -> int:
    """Return the pid of the process whose loader this worker is of: not that of a server that forked it."""
    parent = multiprocessing.parent_process()
    return os.getppid() if parent is None or parent.pid is None else parent.pid


def _memory_of(pid: int) -> StatesPage | None:
    """Open the memory of a process that has started this one otherwise than by forking."""
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(file.readlink()).startswith(f"/memfd:{_name_of(pid)} "):
                    return _opened(file)
    return None


def _opened(path: Path) -> StatesPage:
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return StatesPage(mmap.mmap(file, _SLOTS * _SLOT_BYTES))
    finally:
        os.close(file)


def _name_of(pid: int) -> str:
    return f"perftui-workers-{pid}"
