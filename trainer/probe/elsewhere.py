"""Optimizers that step where the training thread is not: in autograd's threads, and into a CUDA graph.

Apart from the hooks because neither is a step as it comes. Backwards on a GPU run their hooks in a thread of
the engine's own; what steps there (torchtune, layer by layer) is kept until the backward ends in the training
thread. And what is captured is not done: it is done at each replay of the graph.
"""

from collections import deque
from threading import get_ident
from time import perf_counter_ns
from typing import Final

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.stamps import OPTIMIZER_BEGIN, OPTIMIZER_END, UNKNOWN_CPU

_FIELDS: Final = 4
_KEPT: Final = 4096 * 2 * _FIELDS
"""Numbers: of more optimizers' steps in one backward, the first ones go."""
NOBODY: Final = -1
"""Trains while a graph is captured: no thread has this number."""


def _task_of_thread() -> int:
    engine: Foreign = getattr(torch, "_C")  # noqa: B009 - private to torch's stubs only
    number: int = engine._current_graph_task_id()  # private; -1 outside of a backward
    return number


class Elsewhere:
    """What optimizers did elsewhere; `stamps` is filled by any thread, and taken in the training thread.

    Attributes:
        stamps: code, at_ns, cpu_ns and value of each, in a row.
        capturing: the thread that captures a graph; 0: none does.
        captured: names the optimizer that has stepped into the graph; 0: none has.
    """

    def __init__(self) -> None:
        self.stamps: deque[int] = deque(maxlen=_KEPT)
        self.forget()

    def forget(self) -> None:
        """Start from nothing: in a forked child."""
        self.stamps.clear()
        self._alone: set[int] = set()
        """Threads that go backward by themselves: others that train, none of autograd's."""
        self.capturing = self.captured = 0

    def begins(self, key: int) -> bool:
        """An optimizer begins to step in this thread; tell whether that belongs to the training."""
        if self.capturing:
            here = get_ident() == self.capturing
            self.captured = key if here else self.captured
            return here
        if not self._in_thread_of_autograd:
            return False
        self.stamps.extend((OPTIMIZER_BEGIN, perf_counter_ns(), UNKNOWN_CPU, key))
        return True

    def ends(self, key: int) -> None:
        """It has stepped."""
        if self.stamps and not self.capturing and self._in_thread_of_autograd:
            self.stamps.extend((OPTIMIZER_END, perf_counter_ns(), UNKNOWN_CPU, key))

    def goes_backward(self) -> None:
        """A thread that is not the training thread calls for a backward."""
        if _task_of_thread() < 0:
            self._alone.add(get_ident())

    @property
    def _in_thread_of_autograd(self) -> bool:
        return _task_of_thread() >= 0 and get_ident() not in self._alone

    def take(self, begin_ns: int, cpu_ns: int, *, not_before_ns: int = 0) -> tuple[list[int], list[int]]:
        """Return the stamps since a backward began, and the keys of those that have ended.

        Args:
            begin_ns: of the backward: what is older belongs to none of the training thread's.
            cpu_ns: of the training thread, now.
            not_before_ns: the stamps before theirs were left as late as this.
        """
        numbers = [self.stamps.popleft() for _ in range(len(self.stamps))]
        taken: list[int] = []
        keys: list[int] = []
        for place in range(0, len(numbers), _FIELDS):
            code, at_ns, _, key = numbers[place : place + _FIELDS]
            if at_ns < begin_ns:
                continue
            ended = code == OPTIMIZER_END
            taken += (code, max(at_ns, not_before_ns), cpu_ns if ended else UNKNOWN_CPU, key)
            if ended:
                keys.append(key)
        return taken, keys
