"""Where parts leave the step clock as numbered steps.

Apart from the clock, which decides when: here it is only said what a step that has ended looks like.
"""

from collections.abc import Callable

from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.step_parts import Part


class StepOutlet:
    """Numbers the steps of one rank.

    Attributes:
        steps: how many have left; the index of the one that is open.
        drop_next: the next one is counted and not let go: its beginning is lost.
    """

    def __init__(self, emit: Callable[[StepRecord], object], first_step: int) -> None:
        self.steps = first_step
        self.drop_next = False
        self._emit = emit

    def put(self, part: Part, end_ns: int, end_cpu_ns: int, epoch: int) -> None:
        """Let a part go as the next step."""
        if not self.drop_next:
            self._emit(part.record(self.steps, end_ns, end_cpu_ns, epoch))
        self.drop_next = False
        self.steps += 1
