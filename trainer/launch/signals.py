"""Signals as a queue that can be waited for. Standard library only: part of the keeper and the foreground."""

import os
import select
import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


FOR_THE_TRAINING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""By the last two batch systems say that the time is nearly up: scripts save, and queue the job again."""
FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
"""Ctrl-C, and Ctrl-\\, which ends what hangs, or has it print its stacks: for all processes of a command."""


class SignalInbox:
    """Collects what is for the training, and wakes its waiter for it and for the end of a child.

    A signal that was ignored when we started stays ignored, as `nohup` and a shell's `&` want it.
    """

    def __init__(self) -> None:
        self._pending: list[signal.Signals] = []
        self._before: dict[signal.Signals, _Handler] = {}
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)

    def install(self) -> None:
        """Begin to collect; in the main thread."""
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in FOR_THE_TRAINING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _only_wake)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._pending.append(signal.Signals(number))

    def wait(self, timeout_s: float) -> list[signal.Signals]:
        """Wait for a signal, the end of a child, or the time; return the signals that came."""
        ready, _, _ = select.select([self._read_end], [], [], timeout_s)
        if ready:
            os.read(self._read_end, 4096)
        taken, self._pending = self._pending, []
        return taken

    def close(self) -> None:
        """Give the former handlers back; in the main thread."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read_end)
        os.close(self._write_end)


def _only_wake(_number: int, _frame: FrameType | None) -> None:
    """Without a handler the wake-up descriptor stays silent."""
