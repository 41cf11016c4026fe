"""Stamps: what the hooks leave behind, in a ring made once, for somebody else to make sense of.

Apart because this is the hot path: one call into C a stamp, no lock, no allocation that outlives it. All
judgement is left to `stamp_reader`, which runs outside the training thread.
"""

import mmap
from collections.abc import Callable
from struct import Struct
from typing import Final, TypeAlias

STAMPS_KEPT = 1 << 17
"""More than a second's worth at 10,000 steps a second; the reader comes ten times a second."""
UNKNOWN_CPU: Final = -1

ITERATOR_BEGIN: Final = 0
ITERATOR_END: Final = 1
FETCH_BEGIN: Final = 2
FETCH_END: Final = 3
FETCH_FAILED: Final = 4
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

_CELL = Struct("=4q")
_SIZE = _CELL.size


Stamp: TypeAlias = tuple[int, int, int, int]
"""code, at_ns, cpu_ns, value.

CPU time is that of the thread so far, -1 where it was not asked. The value is, by code, the key of the loader
(times two, plus one with gradients on), the number of samples, or the id of the optimizer."""


class StampRing:
    """Written by one thread, read by one thread at a time.

    Attributes:
        put: `put(code, at_ns, cpu_ns, value)`, the only thing the training thread calls.
        lost: stamps that were overwritten before anyone read them.

    Args:
        attend: called in the training thread by `put`, with the time that was stamped, from the stamp on
            that `attend_from` names.
    """

    def __init__(self, attend: Callable[[int], object], kept: int = STAMPS_KEPT) -> None:
        if kept & (kept - 1):
            raise ValueError(f"a ring holds a power of two of stamps, not {kept}")
        self.lost = 0
        self._kept = kept
        # Anonymous and private: pages cost nothing before they are written, also in forked children.
        self._cells = mmap.mmap(-1, kept * _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._read = 0
        self.put, self._written, self._attend_from = _writer(self._cells, kept - 1, attend)

    @property
    def written(self) -> int:
        """How many stamps were put so far."""
        return self._written()

    def attend_from(self, number: int) -> None:
        """Have `attend` called at each stamp from this number on."""
        self._attend_from(number)

    def skip(self) -> None:
        """Forget what is unread."""
        self._read = self._written()

    def take(self) -> list[Stamp]:
        """Return what was put since the last call, oldest first; what was overwritten is in `lost`."""
        end = self._written()
        whole = self._kept - 1  # the oldest cell may be half overwritten right now
        begin = max(self._read, end - whole)
        data = self._copy(begin, end)
        overwritten = min(end, self._written() - whole) - begin  # while it was copied
        if overwritten > 0:
            data = data[overwritten * _SIZE :]
            begin += overwritten
        self.lost += begin - self._read
        self._read = end
        return list(_CELL.iter_unpack(data))

    def _copy(self, begin: int, end: int) -> bytes:
        first, last = begin % self._kept, end % self._kept
        if begin == end:
            return b""
        if first < last:
            return self._cells[first * _SIZE : last * _SIZE]
        return self._cells[first * _SIZE :] + self._cells[: last * _SIZE]


def _writer(
    cells: mmap.mmap, mask: int, attend: Callable[[int], object]
) -> tuple[Callable[[int, int, int, int], None], Callable[[], int], Callable[[int], None]]:
    """Return the writer and its two handles; a closure, as attributes cost more when caches are cold."""
    pack_into = _CELL.pack_into
    written = 0
    attended = 0

    def put(code: int, at_ns: int, cpu_ns: int, value: int) -> None:
        nonlocal written
        number = written
        pack_into(cells, (number & mask) * _SIZE, code, at_ns, cpu_ns, value)
        written = number + 1
        if number >= attended:
            attend(at_ns)

    def attend_from(number: int) -> None:
        nonlocal attended
        attended = number

    return put, lambda: written, attend_from
