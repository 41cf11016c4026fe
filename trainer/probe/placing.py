"""Puts what happened at a time into the step in which it did.

Apart because steps are made later than they happen: what is waiting is placed when its step is there.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from perftui.ipc.step_record import StepRecord

T = TypeVar("T")


class Placing(Generic[T]):
    """Things with a time, in the order of their times, on their way into steps."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, T]] = deque(maxlen=1024)

    def add(self, at_ns: int, thing: T) -> None:
        """Put a thing into line."""
        self._waiting.append((at_ns, thing))

    def placed(self, steps: Iterable[StepRecord]) -> Iterator[tuple[int, T]]:
        """Yield (index of the step, thing) for all that lie before the end of these steps."""
        for step in steps:
            while self._waiting and self._waiting[0][0] <= step.end_ns:
                yield step.step, self._waiting.popleft()[1]

    def rest(self, step: int) -> Iterator[tuple[int, T]]:
        """Yield what is left, as of the step that is open."""
        while self._waiting:
            yield step, self._waiting.popleft()[1]
