"""Makes steps of stamps: the step clock, fed from the ring. No torch, no clock of its own.

Apart from the recorder, which runs in the training thread: this runs in the agent's, except before the agent
has started and while a profiling window must know where steps begin.
"""

from collections import deque
from collections.abc import Callable, Sequence

from perftui.ipc.messages import FLAG_ASLEEP
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.epoch_turns import EpochTurns
from perftui.trainer.probe.phase_now import PhaseNow
from perftui.trainer.probe.regular_steps import CYCLE_STAMPS, regular_steps
from perftui.trainer.probe.rhythm import Rhythm
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    BACKWARD_FAILED,
    COMM_BEGIN,
    EVALUATES,
    EXPECT_STEPS,
    EXPLICIT_STEP,
    FETCH_BEGIN,
    FETCH_END,
    FETCH_FAILED,
    H2D_BEGIN,
    H2D_END,
    ITERATOR_BEGIN,
    ITERATOR_END,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    REPLAYED,
    RESTART,
    SAMPLED,
    SAVE_BEGIN,
    SCALER_BEGIN,
    SCALER_END,
    Stamp,
)
from perftui.trainer.probe.step_clock import StepClock
from perftui.trainer.probe.step_details import StepDetails
from perftui.trainer.probe.step_parts import GapRecord

STEPS_KEPT = 16384
"""More than the agent can leave lying: it takes them right after it has made them."""
_LOOKED_AT = 4096
"""Stamps from which the rhythm of a loop is learnt, where it is not known."""


class StampReader:
    """Holds the step clock of one rank and what it has made; used by one thread at a time.

    Args:
        length_of: returns how many batches a loader has, by its key; None where it does not say.
        may_train: tells whether something may have been trained unseen since it was last asked.

    Attributes:
        steps: finished steps, for the agent to take.
        gaps: validations, likewise.
        details: what is known of steps beside their boundaries.
        turns: from epoch to epoch.
        now: what goes on.
    """

    def __init__(
        self,
        length_of: Callable[[int], int | None] = lambda _key: None,
        may_train: Callable[[], bool] = lambda: True,
    ) -> None:
        self.steps: deque[StepRecord] = deque(maxlen=STEPS_KEPT)
        self.gaps: deque[GapRecord] = deque(maxlen=256)
        self.details = StepDetails()
        self.turns = EpochTurns()
        self.now = PhaseNow()
        self._length_of, self._may_train = length_of, may_train
        self.clock = self._new_clock(0)
        self.stamps_read = 0
        self._stamps_lost = 0
        self._resuming = False
        """Stamps were lost, and no step has begun since."""
        self._rhythm = Rhythm()
        self._scaler_let_step = False
        self._copy_begin_ns: int | None = None
        self._comm_begin_ns: int | None = None
        self._acts: dict[int, Callable[[int, int, int], object]] = {
            ITERATOR_BEGIN: self._iterator_begin,
            ITERATOR_END: lambda at_ns, _cpu, _value: self.clock.iterator_end(at_ns),
            FETCH_BEGIN: self._fetch_begin,
            FETCH_END: self._fetch_end,
            FETCH_FAILED: self._fetch_failed,
            BACKWARD_BEGIN: self._backward_begin,
            BACKWARD_END: self._backward_end,
            BACKWARD_FAILED: lambda at_ns, _cpu, _value: self.clock.backward_end(at_ns, failed=True),
            OPTIMIZER_BEGIN: self._optimizer_begin,
            OPTIMIZER_END: self._optimizer_end,
            REPLAYED: self._replayed,
            SCALER_BEGIN: self._scaler_begin,
            SCALER_END: self._scaler_end,
            EXPECT_STEPS: self._expect_steps,
            EXPLICIT_STEP: self._explicit_step,
            RESTART: self._restart,
            SAMPLED: lambda at_ns, _cpu, copies: self.details.sampled(at_ns, copies=bool(copies)),
            H2D_BEGIN: self._copy_begin,
            H2D_END: self._copy_end,
            COMM_BEGIN: self._communication_begin,
            SAVE_BEGIN: self._save_begin,
            EVALUATES: lambda at_ns, _cpu, _value: self.clock.evaluations.called(at_ns),
        }

    def read(self, stamps: Sequence[Stamp]) -> int:
        """Take stamps in; return how many steps they closed."""
        before = self.clock.steps
        acts = self._acts
        first = self.stamps_read + self._stamps_lost
        place, count = self._resume(stamps, first) if self._resuming else 0, len(stamps)
        while place < count:
            code, at_ns, cpu_ns, value = stamps[place]
            if acts[code](at_ns, cpu_ns, value):
                self._rhythm.note(first + place, code, self.clock.steps)
            plain = code == FETCH_BEGIN and place + CYCLE_STAMPS < count and self.clock.steady
            if plain and not self.clock.evaluations.looked_at:
                taken = self._read_regular(stamps, place)
                if taken:
                    place += taken
                    self._rhythm.note(first + place, code, self.clock.steps)
            place += 1
        self.stamps_read += count
        self.now.evaluates = self.clock.evaluations.expected
        self.now.read(stamps, self.clock.fetches.training_loader)
        return self.clock.steps - before

    def _resume(self, stamps: Sequence[Stamp], first: int) -> int:
        if not self._rhythm.known:  # lost in the first steps: what follows must tell
            ahead = StampReader()
            ahead.read(stamps[:_LOOKED_AT])
            self._rhythm.learn(ahead._rhythm)
        found = self._rhythm.resume(stamps, first)
        if found is None:
            return len(stamps)
        self._resuming = False
        self.clock.evaluations.forget(stamps[found.place][1] if stamps else 0)
        self.clock.resume(found.step, whole=found.whole)
        return found.place

    def _read_regular(self, stamps: Sequence[Stamp], place: int) -> int:
        clock, fetches = self.clock, self.clock.fetches
        epoch = max(0, fetches.epoch)
        steps = regular_steps(stamps, place, clock.steps, epoch, fetches.training_loader, fetches.ahead)
        for step in steps:
            self.details.worker = step.worker
            self._emit(step)
        taken = len(steps) * CYCLE_STAMPS
        if steps:
            _, begin_ns, begin_cpu_ns, _ = stamps[place + taken]
            self.turns.worked_ns = stamps[place + taken - 1][1]
            clock.evaluations.usual("fetch", begin_ns - self.turns.worked_ns)
            clock.evaluations.usual("backward", steps[-1].forward_ns)
            clock.advance(steps[-1].step + 1, begin_ns, begin_cpu_ns, self.turns.worked_ns)
        return taken

    def skip(self, stamps: int) -> None:
        """So many stamps are lost: the steps in them are counted; what is not whole is left out."""
        self._stamps_lost += stamps
        self._resuming = True

    def finish(self, now_ns: int, cpu_ns: int) -> None:
        """The process ends."""
        self.clock.finish(now_ns, cpu_ns)

    def _iterator_begin(self, at_ns: int, cpu_ns: int, value: int) -> int:
        self.turns.iterator_begins(at_ns, value >> 1)
        return self.clock.iterator_begin(at_ns, cpu_ns, value >> 1, grad=bool(value & 1))

    def _fetch_begin(self, at_ns: int, cpu_ns: int, value: int) -> int:
        return self.clock.fetch_begin(at_ns, cpu_ns, value >> 1, grad=bool(value & 1))

    def _fetch_end(self, at_ns: int, worker: int, samples: int) -> None:
        self.details.worker = worker
        self.clock.fetch_end(at_ns, samples)
        if self.turns.pending and self.clock.fetches.runs:
            self.turns.batch(at_ns, self.clock.fetches.runs[-1].loader)

    def _fetch_failed(self, at_ns: int, _cpu_ns: int, raised: int) -> None:
        if raised:
            self.clock.fetch_raised(at_ns)
            return
        fetches = self.clock.fetches
        if fetches.runs and fetches.runs[-1].loader == fetches.training_loader:
            self.turns.found_empty(fetches.begin_ns)
        self.clock.fetch_end(at_ns, got=False)

    def _backward_begin(self, at_ns: int, cpu_ns: int, slept: int) -> None:
        if slept:
            self.clock.flag(FLAG_ASLEEP)
        self.clock.backward_begin(at_ns, cpu_ns)
        if self.turns.pending:
            self.turns.work_begins(self.clock.fetches.training_loader)

    def _optimizer_end(self, at_ns: int, cpu_ns: int, _value: int) -> None:
        self.turns.worked_ns = at_ns
        self.clock.optimizer_end(at_ns, cpu_ns)

    def _replayed(self, at_ns: int, cpu_ns: int, optimizer: int) -> int:
        closed = self.clock.optimizer_begin(at_ns, cpu_ns, optimizer, whole=True)
        self._optimizer_end(at_ns, cpu_ns, 0)
        if self.turns.pending:
            self.turns.work_begins(self.clock.fetches.training_loader)
        return closed

    def _backward_end(self, at_ns: int, _cpu_ns: int, _value: int) -> None:
        self.turns.worked_ns = at_ns
        if self._comm_begin_ns is not None:
            self.details.communicated(self._comm_begin_ns, at_ns)
            self._comm_begin_ns = None
        self.clock.backward_end(at_ns)

    def _copy_begin(self, at_ns: int, _cpu_ns: int, in_forward: int) -> None:
        self._copy_begin_ns = at_ns if in_forward else None

    def _copy_end(self, at_ns: int, _cpu_ns: int, copied: int) -> None:
        if copied and self._copy_begin_ns is not None:
            self.details.copied(self._copy_begin_ns, at_ns)
        self._copy_begin_ns = None

    def _communication_begin(self, at_ns: int, _cpu_ns: int, _value: int) -> None:
        self._comm_begin_ns = at_ns

    def _optimizer_begin(self, at_ns: int, cpu_ns: int, optimizer: int) -> int:
        self._scaler_let_step = True
        return self.clock.optimizer_begin(at_ns, cpu_ns, optimizer)

    def _scaler_begin(self, at_ns: int, cpu_ns: int, optimizer: int) -> int:
        self._scaler_let_step = False
        return self.clock.optimizer_begin(at_ns, cpu_ns, -optimizer)

    def _scaler_end(self, at_ns: int, cpu_ns: int, _value: int) -> None:
        self.clock.optimizer_end(at_ns, cpu_ns, skipped=not self._scaler_let_step)

    def _save_begin(self, at_ns: int, _cpu_ns: int, _value: int) -> None:
        self.clock.fetches.interrupted(at_ns)
        self.clock.evaluations.interrupted(at_ns)

    def _expect_steps(self, at_ns: int, cpu_ns: int, _value: int) -> None:
        self._rhythm.begin(self.stamps_read + self._stamps_lost)  # it comes alone: the agent starts with it
        self.clock.expect_steps(at_ns, cpu_ns)

    def _explicit_step(self, at_ns: int, cpu_ns: int, samples: int) -> int:
        return self.clock.step(at_ns, cpu_ns, None if samples < 0 else samples)

    def _restart(self, _at_ns: int, _cpu_ns: int, _value: int) -> None:
        self.clock = self._new_clock(self.clock.steps)

    def _new_clock(self, first_step: int) -> StepClock:
        return StepClock(self._emit, self.gaps.append, first_step, self._length_of, self._may_train)

    def _emit(self, record: StepRecord) -> None:
        self.steps.append(self.details.complete(record) if self.details.any else self._plain(record))

    def _plain(self, record: StepRecord) -> StepRecord:
        worker = self.details.worker
        return record if record.worker == worker else record._replace(worker=worker)
