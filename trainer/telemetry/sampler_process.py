"""The hub's end of the GPU sampler's pipes: never blocks, whatever the sampler does.

Apart from `gpu` so that what is judged from the lines and how they travel stay two things.
"""

import os
import subprocess
from collections.abc import Mapping

_READ_BYTES = 1 << 16
_UNREAD_LINE_MAX = 1 << 20


class SamplerProcess:
    """One started sampler.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            bufsize=0,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the sampler has no pipes")
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        self._unsent = b""
        self._unread = b""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, line: bytes) -> None:
        """Queue a line and send what the pipe takes."""
        self._unsent += line
        self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = b""  # it has ended; `exit_code` tells

    def lines(self) -> list[bytes]:
        """Return the whole lines that have arrived."""
        self._flush()
        chunks = [self._unread]
        while chunk := self._chunk():
            chunks.append(chunk)
        *lines, rest = b"".join(chunks).split(b"\n")
        self._unread = rest if len(rest) <= _UNREAD_LINE_MAX else b""
        return lines

    def _chunk(self) -> bytes:
        try:
            return os.read(self._stdout.fileno(), _READ_BYTES)
        except BlockingIOError:
            return b""

    def exit_code(self) -> int | None:
        """Return its exit code once it has ended; None while it lives."""
        return self._process.poll()

    def kill(self) -> None:
        """Send SIGKILL and close the pipes; a process stuck in the driver may outlive it (`exit_code`)."""
        self._process.kill()
        self._stdin.close()
        self._stdout.close()

    def end(self, patience_s: float) -> None:
        """Close its input, which ends it; kill it when it does not end in time. Blocks for that long."""
        self._stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._stdout.close()
