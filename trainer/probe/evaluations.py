"""Evaluations that no loader feeds: their length, by what lies between two events of the training. Pure.

That something is evaluated is told by the model's `eval()` and by looks at the training thread; until when,
by neither. It ends where the training goes on: with the next batch that is fetched for it, or with the
forward of the next step, which takes what it takes usually. On a GPU that holds the wait for its results too.
What is done in each step, as answers of the model that it learns from, is no longer than usual there and
stays a part of the step.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from perftui.trainer.probe.step_parts import GapRecord

End: TypeAlias = Literal["fetch", "backward"]
"""With what the training goes on."""

_KEPT: Final = 32
LEAST_KNOWN: Final = 4
"""Stretches of a kind before one of them can be unusual."""
TIMES_USUAL: Final = 3
"""A forward of the step itself, and two more."""
TIMES_USUAL_BY_LOOKS: Final = 5
"""The same without `eval()`: looks find long forwards sooner than short ones, so length says less."""
SHORTEST_NS: Final = 1_000_000
_MARKS_KEPT: Final = 256


class Evaluations:
    """Used by one thread at a time, but for `seen`. Times in ns.

    Args:
        emit_gap: receives each evaluation.
    """

    __slots__ = ("_called_ns", "_emit_gap", "_found", "_left_ns", "_looks", "_marked", "_stretches")

    def __init__(self, emit_gap: Callable[[GapRecord], object]) -> None:
        self._emit_gap = emit_gap
        self._called_ns = self._left_ns = -1
        """When the model was first set to evaluate, and when a checkpoint began after that; -1: neither."""
        self._looks: deque[int] = deque(maxlen=_MARKS_KEPT)
        """When looks found an evaluation; filled by another thread."""
        self._stretches: dict[End, deque[int]] = {
            "fetch": deque(maxlen=_KEPT),
            "backward": deque(maxlen=_KEPT),
        }
        self._marked: dict[End, deque[bool]] = {
            "fetch": deque(maxlen=_KEPT),
            "backward": deque(maxlen=_KEPT),
        }
        """Of the same stretches, which were marked."""
        self._found = False

    @property
    def expected(self) -> bool:
        """Whether marks mean an evaluation in this run: some have, and most stretches have none."""
        return self._found and not any(map(_mostly, self._marked.values()))

    @property
    def looked_at(self) -> bool:
        """Whether a look has found one since the last stretch ended."""
        return bool(self._looks)

    def called(self, at_ns: int) -> None:
        """The model that is trained is set to evaluate."""
        if self._called_ns < 0:
            self._called_ns = at_ns

    def seen(self, at_ns: int) -> None:
        """A look found one."""
        self._looks.append(at_ns)

    def interrupted(self, at_ns: int) -> None:
        """A checkpoint begins: an evaluation before it is over."""
        if self._left_ns < 0 and (self._called_ns >= 0 or self._looks):
            self._left_ns = at_ns

    def usual(self, end: End, length_ns: int) -> None:
        """Take the length of a stretch in which nothing was evaluated."""
        self._stretches[end].append(length_ns)
        self._marked[end].append(False)

    def forget(self, until_ns: int) -> None:
        """Let go of the marks so far: what they mark is known by other means, or was lost."""
        self._called_ns = self._left_ns = -1
        while self._looks and self._looks[0] <= until_ns:
            self._looks.popleft()

    def ends(self, begin_ns: int, end_ns: int, end: End) -> int:
        """A stretch between two events has ended; return how much of it was an evaluation.

        Args:
            begin_ns: a batch had come, a backward or an optimizer had ended.
            end_ns: the next batch is asked for, or the next backward begins.
            end: which of these.
        """
        length_ns = end_ns - begin_ns
        if self._called_ns < 0 and not self._looks:
            self.usual(end, length_ns)
            return 0
        called_ns, left_ns = self._called_ns, self._left_ns
        looked = any(begin_ns <= at_ns <= end_ns for at_ns in self._looks.copy())
        self.forget(end_ns)
        called = begin_ns <= called_ns <= end_ns
        gap_ns = 0
        if called or looked:
            from_ns = called_ns if called else begin_ns
            gap_ns = self._judged(end, length_ns, (from_ns, end_ns), left_ns, called=called)
            if gap_ns:
                self._found = True
                self._emit_gap(GapRecord(from_ns, gap_ns, 0))
        self._stretches[end].append(length_ns)
        self._marked[end].append(called or looked)
        return gap_ns

    def _judged(self, end: End, length_ns: int, span: tuple[int, int], left_ns: int, *, called: bool) -> int:
        lengths = sorted(self._stretches[end])
        if len(lengths) < LEAST_KNOWN or _mostly(self._marked[end]):
            return 0
        usual_ns = lengths[len(lengths) // 4]  # of the shorter ones: many may hold an evaluation
        if length_ns < usual_ns * (TIMES_USUAL if called else TIMES_USUAL_BY_LOOKS):
            return 0
        from_ns, end_ns = span
        gap_ns = end_ns - from_ns - usual_ns if left_ns < from_ns else left_ns - from_ns
        return gap_ns if gap_ns >= SHORTEST_NS else 0


def _mostly(marked: deque[bool]) -> bool:
    return len(marked) >= LEAST_KNOWN and 2 * sum(marked) > len(marked)
