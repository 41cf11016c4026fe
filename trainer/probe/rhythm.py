"""How many stamps lie between the ends of steps: what was lost can be counted by it. Pure, no torch.

Apart from the stamp reader, which makes the steps. Where every step leaves equally many stamps the count is
exact; where it varies (an epoch's end, a validation) it is nearly so.
"""

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from perftui.trainer.probe.stamps import EXPLICIT_STEP, FETCH_BEGIN, ITERATOR_BEGIN, Stamp

_CLOSINGS_KEPT = 15
_BEGIN_A_STEP = (FETCH_BEGIN, ITERATOR_BEGIN)


class Resumption(NamedTuple):
    """Where to go on after a loss."""

    place: int
    """The stamp from which on to read."""
    step: int
    """Index of the step that is open there."""
    whole: bool
    """That step begins with this stamp; else its beginning is lost."""


class Rhythm:
    """Remembers which stamps closed steps. Stamps are numbered from 0, the lost ones as well."""

    def __init__(self) -> None:
        self._closed_at = -1
        self._steps = 0
        self._closings: deque[tuple[int, int]] = deque(maxlen=_CLOSINGS_KEPT)
        """Code of the stamp, and stamps since the one before."""

    @property
    def known(self) -> bool:
        """Whether there is one."""
        return bool(self._closings)

    def note(self, number: int, code: int, steps: int) -> None:
        """The stamp of this number and code closed steps: now there are so many."""
        closed = steps - self._steps
        if not self._steps:
            pass  # a loop leaves more than its steps before the first
        elif closed == 1:  # nearly always
            self._closings.append((code, number - self._closed_at))
        elif not (number - self._closed_at) % closed:
            period = (number - self._closed_at) // closed
            self._closings.extend([(code, period)] * min(closed, _CLOSINGS_KEPT))
        self._closed_at, self._steps = number, steps

    def begin(self, number: int) -> None:
        """The stamp of this number is no part of a step: the first one begins after it."""
        if not self._steps:
            self._closed_at = number

    def learn(self, other: "Rhythm") -> None:
        """Take over what another one knows."""
        self._closings.extend(other._closings)

    def resume(self, stamps: Sequence[Stamp], first: int) -> Resumption | None:
        """Return where to go on in the stamps after a loss; None if no step ends among them.

        Args:
            stamps: what is there, oldest first.
            first: number of the first of them.
        """
        if not self._closings:  # there is nothing to count by
            return Resumption(0, self._steps, whole=False)
        (code, period), _ = Counter(self._closings).most_common(1)[0]
        ends = [place for place, stamp in enumerate(stamps) if stamp[0] == code]
        in_time = (place for place in ends if not (first + place - self._closed_at) % period)
        place = next(in_time, ends[0] if ends else None)
        if place is None:
            return None
        step = self._steps + round((first + place - self._closed_at) / period)
        if code == EXPLICIT_STEP:  # the one that its stamp ends is still open
            step = max(self._steps, step - 1)
        return Resumption(place, step, whole=code in _BEGIN_A_STEP)
