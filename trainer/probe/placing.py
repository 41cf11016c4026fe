"""Puts what happened at a time into the step in which it did.

Apart because the two come in any order: a step is made after what happens in it, and what a device has to
finish first arrives when its step is long gone.
"""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from perftui.trainer.probe.step_times import StepTimes

T = TypeVar("T")
_KEPT = 1024


class Placing(Generic[T]):
    """Things with a time, on their way into steps.

    Args:
        times: when the newest steps ended.
    """

    def __init__(self, times: StepTimes) -> None:
        self._times = times
        self._waiting: deque[tuple[int, T]] = deque(maxlen=_KEPT)

    def add(self, at_ns: int, thing: T) -> None:
        """Put a thing into line."""
        self._waiting.append((at_ns, thing))

    def placed(self) -> Iterator[tuple[int, T]]:
        """Yield (index of the step, thing) for all whose step has ended; too old ones are forgotten."""
        for _ in range(len(self._waiting)):
            at_ns, thing = self._waiting.popleft()
            if at_ns > self._times.newest_ns:
                self._waiting.append((at_ns, thing))
            elif (step := self._times.step_at(at_ns)) >= 0:
                yield step, thing

    def rest(self, step: int) -> Iterator[tuple[int, T]]:
        """Yield what is left, as of the step that is open."""
        while self._waiting:
            yield step, self._waiting.popleft()[1]
