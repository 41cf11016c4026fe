"""In which step a moment lies: what happens beside the steps gets the step it happened in."""

from bisect import bisect_left
from collections.abc import Sequence

from perftui.ipc.step_record import StepRecord

_KEPT = 4096


class StepTimes:
    """Remembers when the newest steps ended."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._ends_ns: list[int] = []
        self._forgot = False

    def note(self, steps: Sequence[StepRecord]) -> None:
        """Take steps that have finished, oldest first."""
        self._steps += [step.step for step in steps]
        self._ends_ns += [step.end_ns for step in steps]
        if len(self._steps) > 2 * _KEPT:
            self._forgot = True
            del self._steps[:-_KEPT], self._ends_ns[:-_KEPT]

    def step_at(self, at_ns: int) -> int:
        """Return the step in which `at_ns` (perf_counter) lies; -1 where that is not known any more."""
        if not self._steps:
            return 0
        place = bisect_left(self._ends_ns, at_ns)
        if place == len(self._steps):
            return self._steps[-1] + 1  # the step that is not finished yet
        return -1 if place == 0 and self._forgot else self._steps[place]
