"""Threads of ours that `threading` does not know: scripts wait for all threads of their process to end.

`for each in threading.enumerate(): each.join()` would wait for ours for ever, and so would a loop on
`threading.active_count()`; nor are `threading.settrace` and `threading.setprofile` meant for ours.
"""

import _thread
import threading
from collections.abc import Callable


class UnseenThread:
    """A thread that the interpreter does not wait for at its end.

    Args:
        act: what it does; nothing may be raised out of it.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._ended = threading.Event()
        self._number: int | None = None

    def start(self) -> None:
        """Start it.

        Raises:
            RuntimeError: the system has no thread left.
        """
        _thread.start_new_thread(self._main, ())

    def join(self, timeout_s: float) -> None:
        """Wait for its end; within itself there is nothing to wait for."""
        if threading.get_ident() != self._number:
            self._ended.wait(timeout_s)

    def _main(self) -> None:
        self._number = threading.get_ident()
        try:
            self._act()
        finally:
            stay_unseen()
            self._ended.set()


def stay_unseen() -> None:
    """Take this thread off the list again: whoever asks for its name, as logging does, puts it on.

    For threads of this module only.
    """
    vars(threading).get("_active", {}).pop(threading.get_ident(), None)
