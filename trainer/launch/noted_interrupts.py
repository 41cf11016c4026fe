"""Ctrl-C while a training is being started: noted, so that one leaves knowing what has been started."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_noted() -> Generator[list[int], None, None]:
    """Note the first SIGINT in the list that is given; a second one acts as ever. In the main thread."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before in (None, signal.SIG_IGN):
        yield noted
        return

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
