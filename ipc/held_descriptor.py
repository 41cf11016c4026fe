"""Descriptors of ours in a process that is not, which may close any of its own at any time.

Scripts do so: `os.closerange(3, 1024)`, a daemon's double fork, a test framework. A number that was closed
may name a file of the script a moment later. So each use asks first whether the number still names what it
did, and the number is a high one: the system gives out low numbers first.
"""

import fcntl
import os
import resource

_HIGHEST = 1024
"""A table of descriptors that reaches further costs the process memory."""
_ROOM = 24
"""How far below the limit the search for a free number begins."""


class DescriptorLost(OSError):
    """The process has closed our descriptor; nothing was sent."""


def held_high(number: int) -> int:
    """Return the same open file under a high number, closed at `exec`; the old number is closed.

    Where no high one is free it stays as it is.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = _HIGHEST if soft == resource.RLIM_INFINITY else min(soft, _HIGHEST)
    try:
        high = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, max(highest - _ROOM, 3))
    except OSError:
        return number
    os.close(number)
    return high


def names(number: int) -> tuple[int, int] | None:
    """Return what open file a number names (device and inode), None for a closed one."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class HeldFile:
    """A file that is read again and again from its beginning, such as those below /proc/self.

    Args:
        path: where it is.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._number = -1
        self._names: tuple[int, int] | None = None
        self._pid = 0

    def read(self, most: int) -> bytes:
        """Return what it says now, at most so many bytes.

        Raises:
            OSError: it cannot be opened or read.
        """
        if self._pid != os.getpid() or self._names is None or names(self._number) != self._names:
            self._number = held_high(os.open(self._path, os.O_RDONLY | os.O_CLOEXEC))
            self._names, self._pid = names(self._number), os.getpid()  # below /proc/self a fork has another
        return os.pread(self._number, most, 0)
