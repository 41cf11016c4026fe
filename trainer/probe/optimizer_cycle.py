"""Where a loop without a loader has its steps, told in the training thread. Pure.

Apart because a step may have several optimizers: it is over when the first of them steps again, as the step
clock says. What is to be followed has to be known as the step begins, so the last optimizer of the cycle
before is taken for that of this one; where cycles differ, nothing is followed. An optimizer that steps again
without a backward between steps for another parameter group (`group_steps`).
"""

from typing import Final

from perftui.trainer.probe.group_steps import GROUPS_MOST

BEGINS_AGAIN: Final = 1
"""The first optimizer of the cycle has stepped: one more step is counted."""
ENDS: Final = 2
"""The last one has: the next step begins here."""
GOES_ON: Final = 0
REPEATS_HELD: Final = 8
"""An optimizer that steps so often without a fetch is in a loop without a loader, not in one on one batch."""


class OptimizerCycle:
    """Follows the optimizers that step without a fetch before them.

    Attributes:
        fed: a fetch has come, and not yet so many steps that it must be the only one.
        sure: the cycle is the one before over again, so far.
    """

    __slots__ = (
        "_again", "_backed", "_batches", "_count", "_first", "_last", "_length", "_newest", "_open",
        "_repeats", "fed", "sure",
    )  # fmt: skip

    def __init__(self) -> None:
        self.fed = False
        self._batches = 0
        self._first = self._last = self._newest = 0
        self._count = self._length = 0
        """Optimizers' steps in this cycle, and in the one before."""
        self._backed = False
        """A backward came since the cycle began, or right before."""
        self._again = 0
        """Steps of the first optimizer since."""
        self._repeats = 0
        self._open = False
        """The first optimizer has stepped, the last one not yet."""
        self.sure = False

    def step(self, key: int, batches: int, *, backed: bool) -> int:
        """An optimizer has stepped, and no fetch came since another one has, or ever.

        Args:
            key: names it.
            batches: fetches so far, and steps that were counted instead of them.
            backed: a backward has begun since an optimizer stepped, that of a fetch's first step left out.

        Returns:
            GOES_ON, or BEGINS_AGAIN and ENDS added up; the caller counts one more where it begins again.
        """
        if batches != self._batches:
            self.fed = True
            self._batches, self._first, self._newest = batches, key, key
            self._last = self._repeats = self._again = 0
            self._count, self._backed = 1, backed
            self.sure = self._open = False
            return GOES_ON
        begins = not self._first or (key == self._first and not self._for_a_group(backed=backed))
        if begins:
            self._begin_again(key, backed=backed)
        self._count += 1
        self._newest = key
        if self.fed:
            return GOES_ON
        self._batches += begins
        ends = self._open and self.sure and key == self._last and self._count == self._length
        self._open = self._open and not ends
        return begins * BEGINS_AGAIN + ends * ENDS

    def _for_a_group(self, *, backed: bool) -> bool:
        """Tell whether the first optimizer steps for another group of its parameters."""
        self._again = 0 if backed else self._again + 1
        return self._backed and 0 < self._again < GROUPS_MOST

    def _begin_again(self, key: int, *, backed: bool) -> None:
        self.sure = self._newest == self._last and self._last != 0 and self._count == self._length
        self._length, self._count, self._backed, self._again = self._count, 0, backed, 0
        self._first, self._last = key, self._newest
        self._repeats += 1
        self._open = True
        self.fed = self.fed and self._repeats < REPEATS_HELD
