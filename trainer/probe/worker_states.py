"""Whether the workers of a loader begin with the same random numbers, and how long the script prepared them.

Each tells, once it was prepared: torch seeds random, NumPy and itself otherwise in each worker, and calls the
script's `worker_init_fn` then, which may undo that. Workers that are forked share a page of memory with the
parent, in which each leaves a checksum of its generators; of workers that are started in another way nothing
is told.
"""

import mmap
import random
import struct
import sys
import zlib
from collections.abc import Callable
from time import perf_counter

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.loader_reading import context_name

_SLOT = struct.Struct("<BIIId")
"""What is known (1: told, 2: NumPy too), a checksum for each generator (random, NumPy, torch), and for how
many seconds the script prepared the worker."""
_TOLD, _WITH_NUMPY = 1, 2


class WorkerStates:
    """The page that a parent and its forked workers share.

    Args:
        workers: how many there are.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._page = mmap.mmap(-1, workers * _SLOT.size)

    def tell(self, worker: int, took_s: float = 0.0) -> None:
        """Leave the checksums of this process, and how long it was prepared; called in the worker."""
        numpy = sys.modules.get("numpy.random")
        known = _TOLD | (_WITH_NUMPY if numpy is not None else 0)
        of_numpy = 0 if numpy is None else _of_numpy(numpy)
        seed = zlib.crc32(str(torch.initial_seed()).encode())
        _SLOT.pack_into(self._page, worker * _SLOT.size, known, _of_random(), of_numpy, seed, took_s)

    def alike(self) -> list[str] | None:
        """Return the generators that are in the same state in all workers; None: not all have told."""
        told = self._told()
        if len(told) < max(2, self._workers):
            return None
        names = ["random", "numpy", "torch"]
        if not all(known & _WITH_NUMPY for known, *_ in told):
            names[1] = ""
        return [name for at, name in enumerate(names, 1) if name and len({each[at] for each in told}) == 1]

    def longest_s(self) -> float | None:
        """Return how long the script took to prepare the slowest worker; None: none has told yet."""
        return max((took_s for *_, took_s in self._told()), default=None)

    def _told(self) -> list[tuple[int, int, int, int, float]]:
        slots = (_SLOT.unpack_from(self._page, worker * _SLOT.size) for worker in range(self._workers))
        return [(known, *rest) for known, *rest in slots if known & _TOLD]


class ToldInit:
    """The script's `worker_init_fn`, after which the worker tells.

    Args:
        init: the script's.
        told: where to; must not raise.
    """

    def __init__(self, init: Callable[[int], Foreign], told: Callable[[int, float], Foreign]) -> None:
        self._init = init
        self._told = told

    def __call__(self, worker: int) -> Foreign:
        """Prepare a worker, in it."""
        begin_s = perf_counter()
        result = self._init(worker)
        self._told(worker, perf_counter() - begin_s)
        return result


def states_for(loader: Foreign) -> WorkerStates | None:
    """Return a page for the workers that a loader is about to start; None where they would not tell."""
    workers: int = loader.num_workers
    if workers < 1 or vars(loader).get("worker_init_fn") is None or context_name(loader) != "fork":
        return None
    return WorkerStates(workers)


def _of_random() -> int:
    _, state, _ = random.getstate()
    return zlib.crc32(repr(state).encode())


def _of_numpy(numpy_random: Foreign) -> int:
    state = numpy_random.get_state(legacy=True)
    return zlib.crc32(state[1].tobytes() + str(state[2]).encode())
