"""Whether a run's hub lives, asked of the lock that it holds. The hub's own side is in `hub_sockets`."""

import fcntl
import os
from pathlib import Path


def is_locked(path: Path) -> bool:
    """Whether a hub holds this lock."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
