"""Where parts leave the step clock as numbered steps.

Apart from the clock, which decides when: here it is only said what a step that has ended looks like.
"""

from collections.abc import Callable

from perftui.ipc.messages import FLAG_FAILED
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.step_parts import Part


class StepOutlet:
    """Numbers the steps of one rank.

    Attributes:
        steps: how many have left; the index of the one that is open.
        usual: batches and backwards of the last one.
        drop_next: the next one is counted and not let go: its beginning is lost.
    """

    def __init__(self, emit: Callable[[StepRecord], object], first_step: int) -> None:
        self.steps = first_step
        self.usual = (0, 0)
        self.drop_next = False
        self._ahead_samples = -1
        """Of the batch by which the loader is ahead, fetched in the first step of the epoch."""
        self._emit = emit

    def put(self, part: Part, end_ns: int, end_cpu_ns: int, epoch: int) -> None:
        """Let a part go as the next step."""
        self._settle_ahead(part)
        usual_batches, usual_backwards = self.usual
        more = part.batches > usual_batches
        if more and part.batches * usual_backwards > part.backwards * usual_batches > 0:
            part.flags |= FLAG_FAILED  # more batches, and more for a backward, than before: one was given up
        self.usual = (part.batches, part.backwards)
        if not self.drop_next:
            self._emit(part.record(self.steps, end_ns, end_cpu_ns, epoch))
        self.drop_next = False
        self.steps += 1

    def _settle_ahead(self, part: Part) -> None:
        """Where a loader is read one batch ahead, each step has the batches that it trained on."""
        if part.ahead_samples is not None and part.batches > part.backwards > 0:
            self._ahead_samples = part.leave_ahead()
        elif self._ahead_samples >= 0 and part.batches == part.backwards - 1 and part.fetched:
            part.batches += 1
            part.add_samples(self._ahead_samples)
            self._ahead_samples = -1
