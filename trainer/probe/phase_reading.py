"""The rank's phase as a fact: gathers what stamps, steps and callbacks know. All in the agent's thread.

Nothing of it runs in the training thread: validations come with the steps, checkpoints and compilations from
the functions that do them, and what goes on now from the newest stamps.
"""

import time
from collections import deque
from collections.abc import Sequence

from perftui.ipc.facts import PhaseFacts
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.phase_ledger import PhaseLedger, Present, process_began_ns
from perftui.trainer.probe.phase_spans import Span
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.saves import Save
from perftui.trainer.probe.step_parts import GapRecord


class PhaseReader:
    """Reads the phase of one rank.

    Args:
        recorder: of this process.

    Attributes:
        at_end: the process ends.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.at_end = False
        self._recorder = recorder
        self._ledger = PhaseLedger(process_began_ns())
        self._saved_ns = -1
        """When the newest checkpoint began that has been written."""

    def note(self, steps: Sequence[StepRecord], gaps: Sequence[GapRecord], saves: Sequence[Save]) -> None:
        """Take in what has ended since the last call."""
        recorder, ledger = self._recorder, self._ledger
        ledger.add("compiling", _taken(recorder.compiled))
        ledger.add("between", _taken(recorder.reader.turns.spans))
        ledger.add("validation", [(gap.at_ns, gap.at_ns + gap.duration_ns) for gap in gaps])
        own = [(save.at_ns, save.at_ns + save.duration_ns) for save in saves if save.here]
        ledger.add("checkpoint", own)
        self._saved_ns = max([self._saved_ns, *(begin_ns for begin_ns, _ in own)])
        ledger.stepped(steps)

    def read(self) -> tuple[PhaseFacts, None]:
        """Return the phase and the sums until now."""
        reader, now_ns = self._recorder.reader, time.perf_counter_ns()
        present = Present(
            now=reader.now.now(self._saved_ns),
            newest_ns=reader.now.newest_ns,
            evaluations=reader.now.evaluations(now_ns),
            compiling_ns=self._recorder.compiling.began_ns,
        )
        return self._ledger.read(now_ns, present, at_end=self.at_end), None


def _taken(spans: deque[Span]) -> list[Span]:
    return [spans.popleft() for _ in range(len(spans))]
