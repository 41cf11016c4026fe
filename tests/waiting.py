"""Waiting for what another process does: looks again and again, up to a deadline."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], what: str, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)
