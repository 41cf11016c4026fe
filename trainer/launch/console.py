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
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from struct import pack, unpack

LIMIT_BYTES = 64 * 1024 * 1024
"""`console.log` and the older part, `console.log.1`, together."""
_TAIL_BYTES = 64 * 1024
_CHUNK = 64 * 1024
_ROWS, _COLUMNS = 40, 120
_POLL_MS = 200
_FLOWING_S = 1.0
"""A terminal does not say how much it holds; in this time it has been read to what was there before."""


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
    """Reads one stream to its end into the log, and passes it on to `sink` if there is one.

    The command's end is not the stream's: what it has left in the background goes on to write.

    Args:
        source: what is read.
        log: where it is kept.
        sink: where it is passed on.
        twin: another number of the sink, which is let go of together with it.
    """

    def __init__(
        self, source: int, log: ConsoleLog | None, sink: int | None, twin: int | None = None
    ) -> None:
        super().__init__(name=f"drain-{source}", daemon=True)
        self._source = source
        self._log = log
        self._sink = sink
        self._released = [number for number in (sink, twin) if number is not None]
        self._command_ended: float | None = None
        self._owed_bytes: int | None = None
        self._handled_bytes = 0
        self.settled = threading.Event()
        """What the command had written at its end has been passed on."""
        self.passed_bytes = 0

    def run(self) -> None:
        """Drain until every writer has closed."""
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while True:
            ended = self._command_ended  # before looking: what it wrote just before its end must be found
            there = poll.poll(None if self.settled.is_set() else _POLL_MS)
            if ended is not None:
                self._look_whether_settled(ended, idle=not there)
            if not there:
                continue
            data = self._read()
            if not data:
                break
            if self._log is not None:
                self._log.write(data)
            self._pass_on(data)
            self._handled_bytes += len(data)
        self.settled.set()
        os.close(self._source)
        for number in self._released:
            _release(number)

    def _look_whether_settled(self, ended: float, *, idle: bool) -> None:
        if self._owed_bytes is None:
            self._owed_bytes = self._handled_bytes + _waiting_bytes(self._source)
        flowed = time.monotonic() - ended >= _FLOWING_S and self._handled_bytes >= self._owed_bytes
        if idle or flowed:
            self.settled.set()

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

    def command_ended(self) -> None:
        """Take note that what is there now is the command's last."""
        self._command_ended = time.monotonic()

    def waits_for_reader(self) -> bool:
        """Whether every writer has closed, so that nothing but our own reader can hold it up."""
        poll = select.poll()
        poll.register(self._source, 0)
        return bool(poll.poll(0))


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
        if self.stdin is not None:
            _release(self.stdin)
        for drain in self.drains:
            drain.start()

    def sources(self) -> list[int]:
        """Return what is still read from."""
        return [drain.source for drain in self.drains if drain.is_alive()]

    def settle(self, stalled_s: float, clock: Callable[[], float]) -> bool:
        """Wait until all that the command has written is passed on, whoever else writes on.

        Returns:
            False when its reader took nothing for `stalled_s`.
        """
        for drain in self.drains:
            drain.command_ended()
        moved, since = -1, clock()
        while left := [drain for drain in self.drains if not drain.settled.is_set()]:
            left[0].settled.wait(0.05)
            total = sum(drain.passed_bytes for drain in left)
            if total != moved:
                moved, since = total, clock()
            elif clock() - since > stalled_s:
                return False
        return True

    def drain_on(self, stalled_s: float, clock: Callable[[], float]) -> None:
        """Drain until every writer has closed; what nobody takes for so long after that is given up."""
        moved, since = -1, clock()
        while left := [drain for drain in self.drains if drain.is_alive()]:
            left[0].join(0.5)
            total = sum(drain.passed_bytes for drain in left)
            if total != moved or not all(drain.waits_for_reader() for drain in left):
                moved, since = total, clock()
            elif clock() - since > stalled_s:
                return


def open_streams(stdio: str, log: ConsoleLog) -> Streams:
    """Make the training's stdio: a pseudo-terminal, two pipes passed on, or one that is only kept."""
    if stdio == "pty":
        master, slave = _open_terminal()
        return Streams(None, slave, slave, [Drain(master, log, None)])
    if stdio == "log":
        source, end = os.pipe()
        return Streams(None, end, end, [Drain(source, log, None)])
    out_source, out_end = os.pipe()
    if _are_one(1, 2):  # as with 2>&1: by two pipes the order of what is written would be lost
        return Streams(0, out_end, out_end, [Drain(out_source, log, 1, twin=2)])
    error_source, error_end = os.pipe()
    return Streams(0, out_end, error_end, [Drain(out_source, log, 1), Drain(error_source, log, 2)])


def _are_one(number: int, other: int) -> bool:
    """Whether two descriptors mean one file, pipe or terminal."""
    try:
        return os.path.sameopenfile(number, other)
    except OSError:  # one of them is closed
        return False


def _waiting_bytes(source: int) -> int:
    """Return how much can be read at once."""
    found: int = unpack("i", ioctl(source, termios.FIONREAD, pack("i", 0)))[0]
    return found


def _release(number: int) -> None:
    """Let go of a stream that others wait to see closed; its number stays taken."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, number)
        os.close(nothing)


def _open_terminal() -> tuple[int, int]:
    master, slave = pty.openpty()
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.OPOST  # newlines stay what they are
    mode[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return master, slave
