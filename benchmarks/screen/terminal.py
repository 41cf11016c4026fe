"""A program in a pseudo-terminal; everything that it paints is kept with the time at which it came."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_READ_BYTES = 1 << 16
_END_S = 10.0
ENVIRONMENT = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}


class Painted(NamedTuple):
    """Bytes that came at a moment of `perf_counter`."""

    at_s: float
    data: bytes


class RecordedTerminal:
    """Reads in a thread of its own, so that no byte is late because something is worked out here."""

    def __init__(
        self,
        command: Sequence[str],
        columns: int,
        lines: int,
        environ: Mapping[str, str],
        cwd: Path | None = None,
    ) -> None:
        self.columns, self.lines = columns, lines
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", lines, columns, 0, 0))
        self.painted: list[Painted] = []
        self._closing = False
        self.started_s = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=dict(environ),
            cwd=cwd,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._closing:
            if not select.select([self._master], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._master, _READ_BYTES)
            except OSError:  # the program has closed its end
                return
            self.painted.append(Painted(time.perf_counter(), data))

    def type(self, keys: bytes) -> float:
        """Type keys; return when."""
        now = time.perf_counter()
        os.write(self._master, keys)
        return now

    def wait_for(self, mark: bytes, since_s: float, timeout_s: float) -> float | None:
        """Return how long after a moment the mark was painted in one piece; None: not in time."""
        deadline = time.perf_counter() + timeout_s
        looked, seen = 0, b""
        while time.perf_counter() < deadline:
            while looked < len(self.painted):
                piece = self.painted[looked]
                looked += 1
                if piece.at_s < since_s:
                    continue
                seen = (seen + piece.data)[-4 * _READ_BYTES :]
                if mark in seen:
                    return piece.at_s - since_s
            if self.process.poll() is not None:
                return None
            time.sleep(0.002)
        return None

    def bytes_between(self, from_s: float, to_s: float) -> int:
        """Return how many bytes came between two moments."""
        return sum(len(piece.data) for piece in self.painted if from_s <= piece.at_s < to_s)

    def close(self) -> None:
        """End the program, and let go of the terminal."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._closing = True
        self._reader.join()
        with contextlib.suppress(OSError):
            os.close(self._master)


def cpu_s(pid: int) -> float:
    """Return the CPU time of a living process, all its threads, in seconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS_PER_S


def resident_mib(pid: int) -> float:
    """Return the resident memory of a living process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


def family(pid: int) -> list[int]:
    """Return a living process and all that descend from it."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
    return found
