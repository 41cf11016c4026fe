"""Keeps a hub alive for as long as the training runs; its troubles never reach the training.

Standard library only: part of the keeper.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

OUTPUT_VARIABLE = "PERFTUI_OUTPUT"
"""Tells a hub the descriptors that it is handed down, comma-separated."""

_QUICK_S = 10.0
"""A hub that lived shorter than this died quickly: the next start waits longer."""
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_LOG_MAX_BYTES = 1024 * 1024


class HubProcess:
    """Starts the hub, and starts it again when it dies.

    Args:
        command: that starts it.
        state: folder of the run.
        umask: the user's, which trainings that the hub has started must get; -1: this process's.
        handed_down: returns descriptors that the hub is to hold as well.
    """

    def __init__(
        self,
        command: list[str],
        state: Path,
        umask: int = -1,
        handed_down: Callable[[], list[int]] = list[int],
    ) -> None:
        self._command = command
        self._state = state
        self._umask = umask
        self._handed_down = handed_down
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._due = 0.0
        self._wait_s = 0.0
        self.starts = 0
        self.failure: str | None = None
        """Why it could not be started, in the system's words."""

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return max(0, self.starts - 1)

    def tick(self, now: float) -> None:
        """Start the hub if none lives and it is time."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
            quick = now - self._started < _QUICK_S
            self._wait_s = min(_LONGEST_WAIT_S, max(_FIRST_WAIT_S, self._wait_s * 2)) if quick else 0.0
            # the first death is answered at once, however young the hub was
            self._due = now if self.starts == 1 else now + self._wait_s
        if self._process is None and now >= self._due:
            self.start_now(now)

    def is_alive(self) -> bool:
        """Whether a hub that we started lives."""
        return self._process is not None and self._process.poll() is None

    def start_now(self, now: float) -> None:
        """Start a hub, whatever became of the last one."""
        self.starts += 1
        self._started = now
        try:
            self._process = self._spawn()
        except OSError as error:
            self.failure = error.strerror or str(error)
            self._wait_s = min(_LONGEST_WAIT_S, max(_FIRST_WAIT_S, self._wait_s * 2))
            self._due = now + self._wait_s

    def _spawn(self) -> "subprocess.Popen[bytes]":
        path = self._state / "hub.log"
        if path.exists() and path.stat().st_size > _LOG_MAX_BYTES:
            path.replace(path.with_name("hub.log.1"))
        held = self._handed_down()
        with path.open("ab") as log:
            return subprocess.Popen(
                self._command,
                cwd=self._state,
                env={**os.environ, OUTPUT_VARIABLE: ",".join(map(str, held))},
                pass_fds=held,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                umask=self._umask,
            )
