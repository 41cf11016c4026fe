"""When the hooks may sleep: pure. Only in a plain loop that has been running evenly, and one step of many."""

from collections.abc import Sequence
from typing import Final

from perftui.ipc.messages import FLAG_ASLEEP, FLAG_EPOCH_START, FLAG_SAMPLED
from perftui.ipc.step_record import StepRecord

EVERY: Final = 32
"""One step of so many, on average."""
ALIKE_STEPS: Final = 64
"""So many usual steps in a row come before the first one that is slept through."""
_USUAL_FLAGS = FLAG_ASLEEP | FLAG_EPOCH_START | FLAG_SAMPLED
_BROKEN_ALLOWED = 8


class ShadowPlan:
    """Watches the steps of one rank."""

    def __init__(self) -> None:
        self._alike = 0

    def note(self, steps: Sequence[StepRecord]) -> None:
        """Take finished steps, oldest first: with one batch each, phases known, and a loader."""
        for step in steps:
            alike = step.micro_batches == 1 and not step.flags & ~_USUAL_FLAGS
            self._alike = self._alike + 1 if alike else 0

    def every(self, slept: int, broken: int) -> int:
        """Return one step of how many may be slept through; 0 for none.

        Args:
            slept: steps so far that were slept through whole.
            broken: attempts so far that came to nothing: the loop is not what it seems.
        """
        if self._alike < ALIKE_STEPS or broken > _BROKEN_ALLOWED + slept:
            return 0
        return EVERY
