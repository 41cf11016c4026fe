"""Which call into the driver is going on: written by the one thread that calls, read by another one.

A call may never come back; then the name of that call is the best that can be told.
"""

import time


class CurrentCall:
    """The call that is going on, if any."""

    def __init__(self) -> None:
        self._now: tuple[str, float] | None = None

    def begin(self, name: str) -> None:
        """A call begins."""
        self._now = (name, time.monotonic())

    def end(self) -> None:
        """It has come back."""
        self._now = None

    def lasting(self) -> tuple[str, float] | None:
        """Return its name and for how many seconds it has lasted; None when none is going on."""
        now = self._now
        return None if now is None else (now[0], time.monotonic() - now[1])
