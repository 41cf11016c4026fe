"""The lock by which a run's hub is known to live: it holds it (flock) from before it binds until its end."""

import fcntl
import os
import time
from pathlib import Path

_PATIENCE_S = 1.0
"""Who asks whether the lock is held has it for an instant: that is no other hub."""
_PAUSE_S = 0.01


def take_hub_lock(path: Path) -> int | None:
    """Return the open file that holds the lock until it is closed; None when another hub has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _PATIENCE_S
    while not _locked(handle, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            os.close(handle)
            return None
        time.sleep(_PAUSE_S)
    return handle


def hub_lock_is_held(path: Path) -> bool:
    """Whether a hub holds this lock; it need not be there."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
