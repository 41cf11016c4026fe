"""Gives the terminal back when the dashboard is killed outright, and can no longer do so itself.

A tiny process of the system's shell waits at the end of a pipe: a word means that all ended well, a closed
pipe that the dashboard is gone. Line mode and echo are the person's own shell's to restore, and shells do.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

_GIVE_BACK = (
    "\\033[?1000l\\033[?1002l\\033[?1003l\\033[?1006l\\033[?1015l\\033[?1016l"  # mouse
    "\\033[?1004l\\033[?2004l\\033[?2048l\\033[?2026l\\033[<u\\033[?7h"  # focus, paste, size, keys, wrap
    "\\033[?1049l\\033[?25h\\033[0m"  # the screen as it was, and its cursor
)
_WORDS = "\\r\\nThe dashboard was killed; the training goes on. Back to it: perftui\\r\\n"
_WAIT = 'trap "" HUP INT TERM; read -r _ || printf "%b" "$0" >&2'


@contextlib.contextmanager
def guarded_terminal() -> Iterator[None]:
    """Keep watch over the terminal on stderr while the body paints on it; without a shell, do nothing."""
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT, _GIVE_BACK + _WORDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=sys.__stderr__,
            start_new_session=True,  # not to be killed together with us
        )
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            guard.communicate(b"all is well\n")
