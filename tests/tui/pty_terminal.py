"""A pseudo-terminal with a dashboard in it: of any kind and size, quick or slow, answering or mute."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from struct import pack

import pyte

RUN = "import sys; from perftui.tui.app import run_dashboard; sys.exit(run_dashboard('demo-1'{}))"
_ALTERNATE = 1049
_NOTHING: Mapping[str, str] = {}


class Terminal:
    """A pseudo-terminal with a process in it, and what has been painted on it."""

    def __init__(
        self,
        columns: int = 120,
        lines: int = 40,
        command: Sequence[str] = ("-c", RUN.format("")),
        *,
        environment: Mapping[str, str] = _NOTHING,
        bytes_per_s: int | None = None,
        answers: bool = False,
    ) -> None:
        """Start an interpreter in it.

        Args:
            columns: of its window.
            lines: of its window.
            command: arguments of the interpreter.
            environment: what differs from the tests' own; "" takes a variable away.
            bytes_per_s: what it reads at most; None: as fast as it can.
            answers: whether it says where its cursor is when it is asked, as real ones do.
        """
        self.master, self.slave = pty.openpty()
        self._set_size(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        self.raw = b""
        self._screen = _Screen(columns, lines, self._typed if answers else None)
        self._stream = pyte.ByteStream(self._screen)
        self.bytes_per_s = bytes_per_s
        self._budget, self._read_s = 0.0, time.monotonic()
        changed = {**os.environ, **environment}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={name: value for name, value in changed.items() if value},
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        """What stands on it."""
        return "\n".join(self._screen.display)

    def lines(self) -> list[str]:
        """Return what stands on it, without blanks at the ends."""
        return [line.rstrip() for line in self._screen.display]

    def wipe(self) -> None:
        """Lose all that was painted, as a terminal does that another program has written to."""
        self._screen.erase_in_display(2)

    def cell(self, x: int, y: int) -> str:
        """Return what stands in a cell; "" in the second one of a wide character."""
        return self._screen.buffer[y][x].data

    def read(self, seconds: float) -> None:
        """Take in what comes within a time, at its own speed."""
        most = self._allowed()
        if most == 0:
            time.sleep(min(seconds, 0.02))
        elif select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, most)
            self._budget -= len(data)
            self.raw += data
            self._stream.feed(data)

    def _allowed(self) -> int:
        """Return how many bytes may be read now: a few at a time, so that the line stays full."""
        if self.bytes_per_s is None:
            return 65536
        now = time.monotonic()
        self._budget = min(0.1 * self.bytes_per_s, self._budget + (now - self._read_s) * self.bytes_per_s)
        self._read_s = now
        return max(0, int(self._budget))

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self.master, keys)

    def _typed(self, data: str) -> None:
        self.type(data.encode())

    def signal_foreground(self, number: signal.Signals) -> None:
        """Send a signal to what a shell in it has in the foreground."""
        os.killpg(os.tcgetpgrp(self.master), number)

    def resize(self, columns: int, lines: int) -> None:
        """Give its window another size."""
        self._screen.resize(lines, columns)
        self._set_size(columns, lines)
        os.kill(self.process.pid, signal.SIGWINCH)

    def _set_size(self, columns: int, lines: int) -> None:
        ioctl(self.slave, termios.TIOCSWINSZ, pack("HHHH", lines, columns, 0, 0))

    def wait_for(self, words: str) -> None:
        """Wait until words stand on the screen."""
        self.wait_until(lambda: words in self.text, words)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Take in what comes until something holds."""
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, f"never {what}:\n{self.text}"
            assert self.process.poll() is None, self.raw[-2000:]
            self.read(0.1)

    def wait_for_bytes(self, sent: bytes) -> None:
        """Wait until something was written to it, by the process or by whoever is left of it."""
        deadline = time.monotonic() + 20
        while sent not in self.raw:
            assert time.monotonic() < deadline, self.raw[-500:]
            self.read(0.1)

    def read_for(self, seconds: float) -> None:
        """Take in what comes within a time, all of which passes."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.05)

    def wait_for_exit(self) -> int:
        """Wait for the process, taking in what it still paints."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "the process did not end"
            self.read(0.05)
        self.bytes_per_s = None
        with contextlib.suppress(OSError):
            while select.select([self.master], [], [], 0)[0]:
                self.read(0)
        return self.process.returncode

    def close(self) -> None:
        """Let go of both ends, and of the process if it is still there."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)


class _Screen(pyte.Screen):
    """One with an alternate screen, that may answer."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None] | None) -> None:
        super().__init__(columns, lines)
        self._answer = answer
        self._below: list[str] | None = None

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        super().set_mode(*modes, **kwargs)
        if _ALTERNATE in modes and self._below is None:
            self._below = [line.rstrip() for line in self.display]
            self.save_cursor()
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **kwargs: bool) -> None:
        super().reset_mode(*modes, **kwargs)
        if _ALTERNATE in modes and self._below is not None:
            below, self._below = self._below, None
            self.reset_attributes()
            self.erase_in_display(2)
            for at, line in enumerate(below[: self.lines]):
                self.cursor_position(at + 1, 1)
                self.draw(line[: self.columns])
            self.restore_cursor()

    def reset_attributes(self) -> None:
        self.select_graphic_rendition(0)

    def write_process_input(self, data: str) -> None:
        if self._answer is not None:
            self._answer(data)
