"""Writes to a terminal from a thread of its own: one that does not read holds up nothing but itself.

The framework's own writer stops the event loop after 30 writes, and with it keys and signals.
"""

import os
import select
import threading
import time
from queue import SimpleQueue

_CHUNK = 4096
"""Bytes: what can no longer be taken back."""
_POLL_MS = 500


class TerminalWriter:
    """Takes text at once; `unsent` says how much of it the terminal's line has not taken so far."""

    def __init__(self, fileno: int) -> None:
        self._fileno = fileno
        self._queue: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()  # signal handlers put into it, too
        self._given = self._done = self._forgotten = 0
        self._gone = False
        self._free_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="perftui-terminal", daemon=True)
        self._thread.start()

    @property
    def unsent(self) -> int:
        """Bytes that still wait."""
        return self._given - self._done

    @property
    def free_s(self) -> float | None:
        """Since when nothing waits, on the monotonic clock; None while something does."""
        return None if self.unsent else self._free_s

    def write(self, text: str) -> None:
        """Take a text to be written."""
        data = text.encode("utf-8", "replace")
        self._given += len(data)
        self._queue.put((self._given, data))

    def forget(self) -> None:
        """Leave out what has not been written so far; what is being written ends anywhere."""
        self._forgotten = self._given

    def close(self, seconds: float) -> bool:
        """Write the rest, for so long at most; True when nothing is left."""
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            end, data = item
            for begin in range(0, len(data), _CHUNK):
                if end > self._forgotten:
                    self._write(data[begin : begin + _CHUNK])
            self._free_s = time.monotonic()
            self._done += len(data)

    def _write(self, data: bytes) -> None:
        while data and not self._gone:
            data = data[self._written(data) :]

    def _written(self, data: bytes) -> int:
        """Return how many bytes were taken."""
        try:
            return os.write(self._fileno, data)
        except BlockingIOError:  # another program has set the terminal's line to that
            poller = select.poll()
            poller.register(self._fileno, select.POLLOUT)
            poller.poll(_POLL_MS)
        except OSError:  # hung up; the app looks for that by itself
            self._gone = True
        return 0
