"""What is known of a step beside its boundaries: compilations, copies, communication, its batch's worker.

Apart from the clock because none of it moves a boundary: it is added, by its time, to a finished step.
"""

from collections import deque

from perftui.ipc.messages import FLAG_COMPILING, FLAG_SAMPLED
from perftui.ipc.step_record import StepRecord

_KEPT = 256


class StepDetails:
    """Collects what happens, and gives it to the steps in which it did. Times in ns.

    Attributes:
        compiles: (begin, end) of compilations, put in by whoever sees them end, in whatever thread.
        worker: of the newest batch; -1 where it came from none.
    """

    def __init__(self) -> None:
        self.compiles: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        self.worker = -1
        self._sampled: deque[tuple[int, bool]] = deque(maxlen=_KEPT)
        self._copies: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        self._exposed: deque[tuple[int, int]] = deque(maxlen=_KEPT)

    def sampled(self, at_ns: int, *, copies: bool) -> None:
        """The step that has just begun is looked at in detail; `copies`: those to the device too."""
        self._sampled.append((at_ns, copies))

    def copied(self, begin_ns: int, end_ns: int) -> None:
        """The thread was busy copying to the device, between the batch's arrival and the backward."""
        self._copies.append((begin_ns, end_ns))

    def communicated(self, begin_ns: int, end_ns: int) -> None:
        """A backward had nothing left to do but to wait for communication."""
        self._exposed.append((begin_ns, end_ns))

    def complete(self, step: StepRecord) -> StepRecord:
        """Return the step with all that belongs to it."""
        flags, h2d_ns, comm_ns = step.flags, step.h2d_ns, step.comm_ns
        if self._compiled_before(step.end_ns):
            flags |= FLAG_COMPILING
        exposed_ns = _sum_before(self._exposed, step.end_ns)
        if exposed_ns is not None:
            comm_ns = exposed_ns
        copied_ns = _sum_before(self._copies, step.end_ns)
        while self._sampled and self._sampled[0][0] < step.end_ns:
            flags |= FLAG_SAMPLED
            if self._sampled.popleft()[1]:
                h2d_ns = copied_ns or 0
        return step._replace(flags=flags, h2d_ns=h2d_ns, comm_ns=comm_ns, worker=self.worker)

    @property
    def any(self) -> bool:
        """Whether there is something to give to a step, beside the worker."""
        return bool(self.compiles or self._sampled or self._exposed or self._copies)

    def _compiled_before(self, end_ns: int) -> bool:
        compiled = False
        while self.compiles and self.compiles[0][0] < end_ns:
            compiled = True
            if self.compiles[0][1] > end_ns:
                break  # goes on in the next step
            self.compiles.popleft()
        return compiled


def _sum_before(spans: deque[tuple[int, int]], end_ns: int) -> int | None:
    total_ns: int | None = None
    while spans and spans[0][0] < end_ns:
        begin_ns, until_ns = spans.popleft()
        total_ns = (total_ns or 0) + until_ns - begin_ns
    return total_ns
