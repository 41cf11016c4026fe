"""Descriptors of ours in a process that is not, which may close any of its own at any time.

Scripts do so: `os.closerange(3, 1024)`, a daemon's double fork, a test framework. A number that was closed
may name a file of the script a moment later. So each use asks first whether the number still names what it
did, and the number is a high one: the system gives out low numbers first. It begins as a low one all the
same, and whoever closes that must be sure that it still is his own: what opens, doubles and closes it keeps
Python's lock, so that no other thread of Python comes between.
"""

import ctypes
import fcntl
import os
import resource
import socket
import time
from collections.abc import Callable
from functools import lru_cache

_HIGHEST = 1024
"""A table of descriptors that reaches further costs the process memory."""
_ROOM = 24
"""How far below the limit the search for a free number begins."""


class DescriptorLost(OSError):
    """The process has closed our descriptor; nothing was sent."""


def held_file(path: str) -> int:
    """Return a high number of a file opened to be read, closed at `exec`.

    Raises:
        OSError: it cannot be opened.
    """
    words = os.fsencode(path)
    return _high(lambda libc: libc.open(words, os.O_RDONLY | os.O_CLOEXEC), path)


def held_stream() -> int:
    """Return a high number of a Unix stream socket that does not block, closed at `exec`.

    Raises:
        OSError: there is none to be had.
    """
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    return _high(lambda libc: libc.socket(socket.AF_UNIX, kind, 0), "a socket")


def _high(opened: Callable[[ctypes.PyDLL], int], what: str) -> int:
    """Open something and move it to a high number; where none is free it stays as it is."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = max((_HIGHEST if soft == resource.RLIM_INFINITY else min(soft, _HIGHEST)) - _ROOM, 3)
    libc = _libc()
    time.sleep(0)  # the lock is fresh then, and nobody asks for it in the few microseconds that follow
    low = opened(libc)
    if low < 0:
        raise OSError(ctypes.get_errno(), f"{os.strerror(ctypes.get_errno())}: {what}")
    high = libc.fcntl(low, fcntl.F_DUPFD_CLOEXEC, lowest)
    if high < 0:
        return low
    libc.close(low)
    return int(high)


@lru_cache(maxsize=1)
def _libc() -> ctypes.PyDLL:
    """Return the C library, whose calls keep Python's lock this way."""
    return ctypes.PyDLL(None, use_errno=True)


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
            self._number = held_file(self._path)
            self._names, self._pid = names(self._number), os.getpid()  # below /proc/self a fork has another
        return os.pread(self._number, most, 0)
