"""What the training thread is at right now, from its newest stamps. No torch, no clock.

Apart from the step clock, which judges when it can be certain: this says what is likely while a validation or
a checkpoint still goes on. It looks only at what came after the last work, so in a training at a few stamps a
wake.
"""

from collections.abc import Sequence
from typing import NamedTuple

from perftui.ipc.facts import RunPhase
from perftui.trainer.probe.phase_spans import Span
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    EVALUATES,
    EXPLICIT_STEP,
    FETCH_BEGIN,
    FETCH_END,
    FETCH_FAILED,
    ITERATOR_BEGIN,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    RAISED,
    REPLAYED,
    SAVE_BEGIN,
    Stamp,
)

_WORK = frozenset((BACKWARD_BEGIN, BACKWARD_END, OPTIMIZER_BEGIN, OPTIMIZER_END, REPLAYED, EXPLICIT_STEP))
_BEGINS_A_WAIT = frozenset((FETCH_BEGIN, ITERATOR_BEGIN))
_SURE_BATCHES = 2
"""So many batches of another loader with gradients on, and no backward: an evaluation. One may be zipped."""
_EVALUATIONS_KEPT = 64


class Now(NamedTuple):
    """What goes on, and since when (ns)."""

    phase: RunPhase
    since_ns: int


class PhaseNow:
    """Follows the newest stamps; used by one thread at a time.

    Attributes:
        newest_ns: time of the newest stamp; -1 before the first.
        saving_ns: when the newest stamp said that a checkpoint begins; -1 if it said something else.
        evaluates: the model's `eval()` means an evaluation, as it did before in this run.
    """

    def __init__(self) -> None:
        self.newest_ns = -1
        self.saving_ns = -1
        self.evaluates = False
        self._called_ns = -1
        """When `eval()` was called since the last work, and nothing else was seen; -1: it was not."""
        self._work_ns = -1
        self._turn_ns = -1
        """Since when the training loader begins anew, or is at its end; -1: it does not."""
        self._run: _Run | None = None
        self._evaluated: tuple[Span, ...] = ()

    def read(self, stamps: Sequence[Stamp], training_loader: int) -> None:
        """Take stamps in, oldest first.

        Args:
            stamps: new ones.
            training_loader: key of the loader that is known to train; -1 before one is.
        """
        if not stamps:
            return
        place = len(stamps) - 1
        while place >= 0 and stamps[place][0] not in _WORK:
            place -= 1
        if place >= 0:
            self._work_ns = stamps[place][1]
            self._turn_ns, self._run, self._evaluated, self.saving_ns = -1, None, (), -1
            self._called_ns = -1
        for code, at_ns, _, value in stamps[place + 1 :]:
            self._take(code, at_ns, value, training_loader)
        self.newest_ns = stamps[-1][1]

    def evaluations(self, now_ns: int) -> tuple[Span, ...]:
        """Return the evaluations since the last work, the one that goes on until now."""
        run = self._run
        if self._called_ns >= 0 and self.evaluates:
            return (*self._evaluated, (self._called_ns, now_ns))
        if run is None or not run.evaluates or run.ended:
            return self._evaluated
        return (*self._evaluated, (run.begin_ns, run.left_ns if run.left_ns >= 0 else now_ns))

    def now(self, saved_ns: int = -1) -> Now:
        """Return what goes on, compilations apart.

        Args:
            saved_ns: when the newest checkpoint began that has been written.
        """
        if self.saving_ns > saved_ns:
            return Now("checkpoint", self.saving_ns)
        run = self._run
        if run is not None and run.evaluates and not run.ended and run.left_ns < 0:
            return Now("validation", run.since_ns)
        if self._called_ns >= 0 and self.evaluates:
            return Now("validation", self._called_ns)
        if self._turn_ns >= 0:
            return Now("between", self._turn_ns)
        return Now("training", max(self._work_ns, 0))

    def _take(self, code: int, at_ns: int, value: int, training_loader: int) -> None:
        self.saving_ns = at_ns if code == SAVE_BEGIN else -1
        self._note_call(code, at_ns)
        run = self._run
        if code in _BEGINS_A_WAIT:
            run = self._run = self._run_of(value >> 1, at_ns, again=code == FETCH_BEGIN)
            run.grad, run.training, run.wait_ns = bool(value & 1), run.loader == training_loader, at_ns
            run.left_ns = -1
            if run.training and run.grad and code == ITERATOR_BEGIN:
                self._begin_turn(at_ns)
        elif run is None:
            return
        elif code == SAVE_BEGIN:
            run.left_ns = at_ns if run.left_ns < 0 else run.left_ns
        elif code == FETCH_END:
            run.batches += 1
            if run.training and run.grad:
                self._turn_ns = -1
        elif code == FETCH_FAILED and value != RAISED:
            self._end(run, at_ns)
            if run.training and run.grad:
                self._begin_turn(run.wait_ns)

    def _note_call(self, code: int, at_ns: int) -> None:
        """Note that the model is set to evaluate; that ends with a checkpoint, or is told by a loader."""
        if code == EVALUATES:
            self._called_ns = at_ns if self._called_ns < 0 else self._called_ns
            return
        if code == SAVE_BEGIN and self._called_ns >= 0 and self.evaluates:
            self._evaluated = (*self._evaluated, (self._called_ns, at_ns))[-_EVALUATIONS_KEPT:]
        if code == SAVE_BEGIN or code in _BEGINS_A_WAIT:
            self._called_ns = -1

    def _run_of(self, loader: int, at_ns: int, *, again: bool) -> "_Run":
        last = self._run
        if last is not None and last.loader == loader and not last.ended and (again or not last.batches):
            return last
        if last is not None and not last.ended:
            self._end(last, at_ns)
        since_ns = last.since_ns if last is not None and last.evaluates else at_ns
        return _Run(loader, at_ns, since_ns)

    def _end(self, run: "_Run", at_ns: int) -> None:
        run.ended = True
        if run.evaluates and run.batches:
            end_ns = run.left_ns if run.left_ns >= 0 else at_ns
            self._evaluated = (*self._evaluated, (run.begin_ns, end_ns))[-_EVALUATIONS_KEPT:]

    def _begin_turn(self, at_ns: int) -> None:
        if self._turn_ns < 0:
            self._turn_ns = at_ns


class _Run:
    """Fetches in a row from one iterator."""

    __slots__ = (
        "batches",
        "begin_ns",
        "ended",
        "grad",
        "left_ns",
        "loader",
        "since_ns",
        "training",
        "wait_ns",
    )

    def __init__(self, loader: int, begin_ns: int, since_ns: int) -> None:
        self.loader = loader
        self.begin_ns = self.wait_ns = begin_ns
        self.since_ns = since_ns
        """When the first of several evaluations in a row began."""
        self.left_ns = -1
        """When a checkpoint began after its last fetch: a loader need not be asked for its end."""
        self.batches = 0
        self.grad = self.training = True
        self.ended = False

    @property
    def evaluates(self) -> bool:
        if self.batches >= _SURE_BATCHES:
            return not (self.grad and self.training)
        return not (self.grad or self.training)  # a prefetcher may fetch a batch with gradients off
