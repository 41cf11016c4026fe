"""Small files below /proc and /sys, read with as few calls as can be: a sweep over a run reads hundreds.

Opening by `pathlib` costs three times what the kernel needs for the file itself, so paths are plain strings.
"""

import errno
import os
import time
from collections.abc import Iterable

_CHUNK = 1 << 16


def read_whole(path: str) -> bytes:
    """Return a file's bytes; nothing when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        parts: list[bytes] = []
        # the kernel hands out lists of records piece by piece: a short answer is not the end
        while part := os.read(descriptor, _CHUNK):
            parts.append(part)
        return b"".join(parts)
    except OSError:  # the process has ended meanwhile
        return b""
    finally:
        os.close(descriptor)


def read_line(path: str) -> bytes:
    """Return what one read gives: a file about one process is handed out in one piece."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def why_unreadable(path: str) -> str:
    """Return in a few words why a file gives nothing."""
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 the paths here are strings
            return "" if stream.read(1) else "empty"
    except FileNotFoundError:
        return "there is none"
    except OSError as error:
        return (
            "not permitted"
            if error.errno in (errno.EACCES, errno.EPERM)
            else (error.strerror or "unreadable")
        )


def numbers_by_name(text: bytes) -> dict[bytes, int]:
    """Return `name number` lines, with or without a colon and a unit, as a dictionary."""
    found: dict[bytes, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].isdigit():
            found[words[0].rstrip(b":")] = int(words[1])
    return found


def whole_numbers(words: Iterable[bytes | str]) -> list[int]:
    """Return the words as numbers; nothing when one of them is none."""
    try:
        return [int(word) for word in words]
    except ValueError:
        return []


def boot_seconds() -> float:
    """Return seconds since boot, sleep included: the clock of the start times in /proc."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
