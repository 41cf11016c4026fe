"""The training's output: drained always, kept bounded in `console.log`, and passed on where asked.

A full pseudo-terminal or pipe would block the training, so a thread reads each stream for as long as it is
open. Passing on may block (a stalled reader gives plain backpressure, as without us); it happens in that
thread alone, and supervision goes on. Standard library only: part of the keeper.
"""

import os
import pty
import select
import termios
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from struct import pack

LIMIT_BYTES = 64 * 1024 * 1024
"""`console.log` and the older part, `console.log.1`, together."""
_TAIL_BYTES = 64 * 1024
_CHUNK = 64 * 1024
_ROWS, _COLUMNS = 40, 120
_POLL_MS = 200


class ConsoleLog:
    """Appends raw output to a bounded file; when half the budget is full the older half moves aside."""

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._half = max(4096, limit_bytes // 2)
        self._lock = threading.Lock()
        self._stream = path.open("ab", buffering=0)
        self._size = path.stat().st_size
        self._tail = b""
        self.failed_writes = 0

    def write(self, data: bytes) -> None:
        """Append; a full disk costs the log, never the training."""
        with self._lock:
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            try:
                if self._size + len(data) > self._half:
                    self._move_aside()
                self._stream.write(data)
            except OSError:
                self.failed_writes += 1
            else:
                self._size += len(data)

    def _move_aside(self) -> None:
        self._stream.close()
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._stream = self._path.open("ab", buffering=0)
        self._size = 0

    def tail(self) -> str:
        """Return the newest output, at most 64 KiB, as text."""
        with self._lock:
            return self._tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._stream.close()


class Drain(threading.Thread):
    """Reads one stream to its end into the log, and passes it on to `sink` if there is one."""

    def __init__(self, source: int, log: ConsoleLog, sink: int | None) -> None:
        super().__init__(name=f"drain-{source}", daemon=True)
        self._source = source
        self._log = log
        self._sink = sink
        self._finishing = threading.Event()
        self.passed_bytes = 0

    def run(self) -> None:
        """Drain until every writer has closed, or until told to finish and nothing more is there."""
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while True:
            if not poll.poll(_POLL_MS):
                if self._finishing.is_set():
                    break
                continue
            data = self._read()
            if not data:
                break
            self._log.write(data)
            self._pass_on(data)
        os.close(self._source)

    def _read(self) -> bytes:
        try:
            return os.read(self._source, _CHUNK)
        except OSError:  # a pseudo-terminal whose other end is closed says EIO where a pipe says end of file
            return b""

    def _pass_on(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left and self._sink is not None:
                written = self._write(self._sink, left)
                left = left[written:]
                self.passed_bytes += written
        except OSError:  # the reader is gone: the training is not punished for it
            self._sink = None

    @staticmethod
    def _write(sink: int, data: memoryview) -> int:
        try:
            return os.write(sink, data)
        except BlockingIOError:  # the reader's end was made non-blocking by someone else
            select.select([], [sink], [])
            return 0

    @property
    def source(self) -> int:
        """What it reads from."""
        return self._source

    def finish(self) -> None:
        """End as soon as nothing more is there to read, even if someone holds the other end open."""
        self._finishing.set()


@dataclass
class Streams:
    """Both sides of a training's stdio."""

    stdin: int | None
    """For the child; None: it is given /dev/null."""
    stdout: int
    stderr: int
    drains: list[Drain]

    def started(self) -> None:
        """The child has its ends: close ours and begin to drain."""
        for end in {self.stdout, self.stderr}:
            os.close(end)
        for drain in self.drains:
            drain.start()

    def sources(self) -> list[int]:
        """Return what is still read from."""
        return [drain.source for drain in self.drains if drain.is_alive()]

    def settle(self, stalled_s: float, clock: Callable[[], float]) -> bool:
        """Wait for the drains; False when the reader took nothing for `stalled_s`."""
        for drain in self.drains:
            drain.finish()
        moved, since = -1, clock()
        while any(drain.is_alive() for drain in self.drains):
            for drain in self.drains:
                drain.join(0.05)
            total = sum(drain.passed_bytes for drain in self.drains)
            if total != moved:
                moved, since = total, clock()
            elif clock() - since > stalled_s:
                return False
        return True


def open_streams(stdio: str, log: ConsoleLog) -> Streams:
    """Make the training's stdio: a pseudo-terminal, two pipes passed on, or one that is only kept."""
    if stdio == "pty":
        master, slave = _open_terminal()
        return Streams(None, slave, slave, [Drain(master, log, None)])
    if stdio == "log":
        source, end = os.pipe()
        return Streams(None, end, end, [Drain(source, log, None)])
    out_source, out_end = os.pipe()
    error_source, error_end = os.pipe()
    return Streams(0, out_end, error_end, [Drain(out_source, log, 1), Drain(error_source, log, 2)])


def _open_terminal() -> tuple[int, int]:
    master, slave = pty.openpty()
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.OPOST  # newlines stay what they are
    mode[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return master, slave
