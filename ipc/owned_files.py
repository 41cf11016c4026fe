"""Files of a run: made for their owner alone whatever the umask, and read only where they are plain files.

Standard library alone: the keeper uses it too.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

OWNER_ONLY = 0o600


def opener(path: str, flags: int) -> int:
    """Open a file as `open` asks for it; one that is made is its owner's alone."""
    return os.open(path, flags | os.O_CLOEXEC, OWNER_ONLY)


def regular_file(path: Path) -> BufferedReader:
    """Open a plain file for reading: a pipe would never end, and a device is not ours to read.

    Raises:
        OSError: it cannot be opened, or is no plain file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a file", str(path))
    return os.fdopen(handle, "rb")
