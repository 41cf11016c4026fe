"""Stamps: what the hooks leave behind, in a bounded row, for somebody else to make sense of.

Apart because this is the hot path: one call into C a stamp, no lock, nothing that the garbage collector
counts. All judgement is left to `stamp_reader`, which runs outside the training thread.

The row is a deque of plain integers because a large model empties the processor's caches between two stamps:
then `deque.extend` takes 2 µs, packing the same four numbers into a buffer 10 to 13 µs, for the code of two
more shared libraries has to be fetched, and each function of Python on the way 2 µs (docs/benchmarks.md).
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeAlias

STAMPS_KEPT = 1 << 16
"""More than a second's worth at 10,000 steps a second; the reader comes ten times a second."""
UNKNOWN_CPU: Final = -1
RAISED: Final = 1

ITERATOR_BEGIN: Final = 0
ITERATOR_END: Final = 1
FETCH_BEGIN: Final = 2
FETCH_END: Final = 3
FETCH_FAILED: Final = 4
"""No batch came: `RAISED` where it raised, else the iterator is at its end."""
BACKWARD_BEGIN: Final = 5
BACKWARD_END: Final = 6
BACKWARD_FAILED: Final = 7
OPTIMIZER_BEGIN: Final = 8
OPTIMIZER_END: Final = 9
SCALER_BEGIN: Final = 10
SCALER_END: Final = 11
EXPECT_STEPS: Final = 12
EXPLICIT_STEP: Final = 13
RESTART: Final = 14
"""Another thread proved to be the training thread: forget what the first one did."""
SAMPLED: Final = 15
"""The step that has just begun is looked at in detail; value 1 with a device whose copies are watched."""
H2D_BEGIN: Final = 16
H2D_END: Final = 17
"""Value 0: it was no copy to a device."""
COMM_BEGIN: Final = 18
"""The backward's own work is done; until its end it waits for communication."""
SAVE_BEGIN: Final = 19
"""A checkpoint begins to be written."""
REPLAYED: Final = 20
"""A CUDA graph that holds a whole step was replayed."""
EVALUATES: Final = 21
"""The model that is trained is set to evaluate: its `eval()` is called."""

_FIELDS: Final = 4
LOOK_EVERY = 256
"""Calls of `put` after which the training thread looks how long the row has become."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""code, at_ns, cpu_ns, value.

CPU time is that of the thread so far, -1 where it was not asked. The value is, by code, the key of the loader
(times two, plus one with gradients on), the number of samples, the id of the optimizer, or whether a fetch
raised or a backward was slept through."""


class StampRing:
    """Written by one thread, read by one thread at a time; one extension of the deque is atomic.

    Attributes:
        leave: `leave((code, at_ns, cpu_ns, value))`, and nothing else: for the stamps between two boundaries.
        leave_row: leaves any number of them at once.
        put: `put(code, at_ns, cpu_ns, value)` leaves a stamp, and does what is due.
        lost: stamps that had to go before anyone read them; grows in `take` alone, by those before it.

    Args:
        attend: called in the training thread by `put`, with the number of the call and the times that
            were stamped, from the call on that `attend_from` names.
        kept: stamps that may lie unread; of more, the older half goes.
    """

    def __init__(self, attend: Callable[[int, int, int], object], kept: int = STAMPS_KEPT) -> None:
        self.lost = 0
        self._kept = kept
        self._numbers: deque[int] = deque()
        self._lost_since = 0
        self._gone = 0
        """Stamps that were taken, skipped or lost."""
        self._lock = Lock()
        """Taken to take stamps away; by the writer only if nobody has it."""
        self._attend = attend
        self._attended = 0
        self._shortened = LOOK_EVERY
        """Number of the call at which the row may be too long."""
        self.leave: Callable[[tuple[int, int, int, int]], None] = self._numbers.extend
        self.leave_row: Callable[[list[int]], None] = self._numbers.extend
        self.put, self._turn_from = _writer(self.leave, self._turn)

    @property
    def written(self) -> int:
        """How many stamps were left so far."""
        return self._gone + len(self._numbers) // _FIELDS

    def attend_from(self, number: int) -> None:
        """Have `attend` called at each call of `put` from this number on."""
        self._attended = number
        self._turn_from(min(number, self._shortened))

    def skip(self) -> None:
        """Forget what is unread; in a forked child too, where the lock may be one that nobody gives back."""
        self._lock = Lock()
        self._lost_since = 0
        self._drop(len(self._numbers))

    def take(self) -> list[Stamp]:
        """Return what was left since the last call, oldest first; what had to go before it is in `lost`."""
        with self._lock:
            self.lost += self._lost_since
            self._lost_since = 0
            taken = iter(self._drop(len(self._numbers)))
        return list(zip(taken, taken, taken, taken, strict=True))

    def _drop(self, numbers: int) -> list[int]:
        pop = self._numbers.popleft
        self._gone += numbers // _FIELDS
        return [pop() for _ in range(numbers)]

    def _turn(self, number: int, at_ns: int, cpu_ns: int) -> None:
        if number >= self._shortened:
            self._shortened = number + LOOK_EVERY
            self._turn_from(min(self._attended, self._shortened))
            self._shorten()
        if number >= self._attended:
            self._attend(number, at_ns, cpu_ns)

    def _shorten(self) -> None:
        unread = len(self._numbers) // _FIELDS
        if unread <= self._kept or not self._lock.acquire(blocking=False):
            return  # where somebody has it, it is being read right now
        try:
            older = max(0, len(self._numbers) // _FIELDS - self._kept // 2)
            self._drop(older * _FIELDS)
            self._lost_since += older
        finally:
            self._lock.release()


def _writer(
    leave: Callable[[tuple[int, int, int, int]], None], turn: Callable[[int, int, int], object]
) -> tuple[Callable[[int, int, int, int], None], Callable[[int], None]]:
    """Return the writer and its handle; a closure, as attributes cost more when caches are cold."""
    calls = 0
    turned = 0

    def put(code: int, at_ns: int, cpu_ns: int, value: int) -> None:
        nonlocal calls
        leave((code, at_ns, cpu_ns, value))
        number = calls
        calls = number + 1
        if number >= turned:
            turn(number, at_ns, cpu_ns)

    def turn_from(number: int) -> None:
        nonlocal turned
        turned = number

    return put, turn_from
