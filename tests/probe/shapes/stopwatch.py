"""The clock of the scripts themselves: what they say each step took, to be held against what the hub heard.

It knows nothing of the probe: a script calls it where it waits, goes backward and steps its optimizer.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from json import dumps
from time import perf_counter_ns
from typing import Any, TypeVar

import torch

S = TypeVar("S")
T = TypeVar("T")


@dataclass
class OwnStep:
    """One step as the script saw it; times in ns."""

    begin_ns: int
    wall_ns: int = 0
    wait_ns: int = 0
    forward_ns: int = 0
    """From the end of the last wait, backward or optimizer to the start of a backward."""
    backward_ns: int = 0
    optimizer_ns: int = 0
    gap_ns: int = 0
    """Validation, which is no part of the step."""
    waits: int = 0
    backwards: int = 0
    optimizers: int = 0
    """How often each was timed."""
    interruptions: int = 0
    """Optimizers that stepped inside a backward."""
    samples: int = -1
    micro_batches: int = 1
    epoch: int = 0
    epoch_start: bool = False
    failed: bool = False


class Stopwatch:
    """Times the phases of one training."""

    def __init__(self) -> None:
        self.steps: list[OwnStep] = []
        self._open: OwnStep | None = None
        self._done = False
        self._mark_ns = 0
        self._inner_ns = 0
        self._inside = False
        self._epochs_begun: set[int] = set()

    def begin(self, at_ns: int | None = None) -> None:
        """Here begins a step, if the last one is done or there is none."""
        at_ns = at_ns or perf_counter_ns()
        if self._open is not None and self._done:
            self._close(at_ns)
        if self._open is None:
            self._open = OwnStep(at_ns)
            self._done = False

    def batches(self, loader: Iterable[T]) -> Iterator[T]:
        """Yield what a loader gives; making its iterator and each `next` are wait."""
        iterator = self.wait(iter, loader)
        while True:
            try:
                batch = self.wait(next, iterator)
            except StopIteration:
                return
            yield batch

    def wait(self, fetch: Callable[[S], T], source: S) -> T:
        """Return what `fetch` (`iter`, `next`) brings from the source; the time is wait."""
        begin_ns = perf_counter_ns()
        self.begin(begin_ns)
        try:
            return fetch(source)
        finally:
            self._mark_ns = perf_counter_ns()
            self._current.wait_ns += self._mark_ns - begin_ns
            self._current.waits += 1

    def backward(self, loss: torch.Tensor) -> None:
        """Go backward, and time it, but for optimizers that step in it; what was before is forward."""
        begin_ns = perf_counter_ns()
        step = self._current
        if self._mark_ns:
            step.forward_ns += begin_ns - self._mark_ns
        self._inner_ns = 0
        self._inside = True
        try:
            loss.backward()  # type: ignore[no-untyped-call]
        finally:
            self._mark_ns = perf_counter_ns()
            step.backward_ns += self._mark_ns - begin_ns - self._inner_ns
            step.backwards += 1
            self._inside = False

    @contextmanager
    def optimizer(self) -> Generator[None, None, None]:
        """What is inside is the optimizer's, but for a closure's forwards and backwards."""
        begin_ns = perf_counter_ns()
        before = self._current.backwards
        try:
            yield
        finally:
            if self._current.backwards > before:
                begin_ns = self._mark_ns
            self._mark_ns = perf_counter_ns()
            took_ns = self._mark_ns - begin_ns
            self._inner_ns += took_ns
            self._current.optimizer_ns += took_ns
            self._current.optimizers += 1
            self._current.interruptions += self._inside

    @contextmanager
    def validation(self) -> Generator[None, None, None]:
        """What is inside belongs to no step."""
        begin_ns = perf_counter_ns()
        self.begin(begin_ns)
        yield
        self._current.gap_ns += perf_counter_ns() - begin_ns

    def done(
        self,
        samples: int = -1,
        *,
        micro_batches: int = 1,
        epoch: int | None = None,
        failed: bool = False,
        at_once: bool = False,
    ) -> None:
        """The step is done: it ends where the next one begins.

        Args:
            samples: how many it trained on.
            micro_batches: batches in it.
            epoch: counted from 0; None where there are none.
            failed: it raised, or was skipped.
            at_once: it ends here and now, and the next one begins.
        """
        step = self._current
        step.samples, step.micro_batches, step.failed = samples, micro_batches, failed
        if epoch is not None:
            step.epoch = epoch
            step.epoch_start = epoch not in self._epochs_begun
            self._epochs_begun.add(epoch)
        self._done = True
        if at_once:
            self._mark_ns = perf_counter_ns()
            self.begin(self._mark_ns)

    def done_at_mark(self, samples: int = -1, epoch: int | None = None) -> None:
        """The step ended with its last phase, and there the next one begins."""
        self.done(samples, epoch=epoch)
        self.begin(self._mark_ns)

    def report(self, name: str) -> None:
        """Print what was measured; the last step ends with its last phase."""
        if self._open is not None and self._done:
            self._close(self._mark_ns)
        told: dict[str, Any] = {"shape": name, "steps": [asdict(step) for step in self.steps]}
        sys.stdout.write(dumps(told) + "\n")
        sys.stdout.flush()

    @property
    def _current(self) -> OwnStep:
        if self._open is None:
            raise RuntimeError("no step has begun")
        return self._open

    def _close(self, at_ns: int) -> None:
        step = self._current
        step.wall_ns = at_ns - step.begin_ns - step.gap_ns
        self.steps.append(step)
        self._open = None
