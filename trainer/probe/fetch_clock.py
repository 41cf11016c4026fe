"""The loader side of the step clock: waits, epochs, validation; collected until a backward settles them.

Apart from the step clock because fetches can only be judged afterwards: see `fetches.sort_runs`.
"""

from collections.abc import Callable

from perftui.ipc.messages import FLAG_EPOCH_START
from perftui.trainer.probe.fetches import Run, sort_runs
from perftui.trainer.probe.step_parts import GapRecord, Part


class FetchClock:
    """Collects runs of fetches. Times in ns."""

    def __init__(self, emit_gap: Callable[[GapRecord], object]) -> None:
        self.epoch = -1
        """Counted from 0 by the iterators of the training loader; -1 before the first."""
        self.training_loader = -1
        """Key of the loader whose iterators are epochs; -1 before it is known."""
        self.runs: list[Run] = []
        self.begin_ns = 0
        """When the wait that is going on, or the last one, began."""
        self._emit_gap = emit_gap
        self._heir = -1
        """A loader that began after a batch of the training one: if that is left for it, it is its heir."""
        self._new_iterators: set[int] = set()
        self._depth = 0

    def enter(self, now_ns: int) -> bool:
        """A wait begins; False inside another one (a loader that reads from a loader)."""
        self._depth += 1
        if self._depth > 1:
            return False
        self.begin_ns = now_ns
        return True

    @property
    def only_begun(self) -> bool:
        """Whether all there is since the last backward is one wait, just begun, for the training loader."""
        if self._depth != 1 or len(self.runs) != 1 or self.training_loader in self._new_iterators:
            return False
        run = self.runs[0]
        return run.loader == self.training_loader and not (
            run.fresh or run.ended or run.batches or run.wait_ns
        )

    def begin_again(self, now_ns: int) -> None:
        """Have the wait of `only_begun` begin now."""
        self.begin_ns = self.runs[0].begin_ns = self.runs[0].end_ns = now_ns

    def forget_open(self) -> None:
        """Training work begins, so no wait is open: one whose end was missed must not hide the next."""
        self._depth = 0

    def forget(self) -> None:
        """Events were lost: nothing is known of what came since the last backward."""
        self._depth = 0
        self.runs.clear()
        self._new_iterators.clear()

    def open(self, loader: int, *, grad: bool, new_iterator: bool) -> None:
        """Put the wait that has begun into a run."""
        if new_iterator:
            self._new_iterators.add(loader)
        last = self.runs[-1] if self.runs else None
        if last is not None and last.loader == loader and not last.ended and not new_iterator:
            last.grad = grad
        else:
            self.runs.append(Run(loader, self.begin_ns, fresh=loader in self._new_iterators, grad=grad))

    def leave(self, now_ns: int) -> Run | None:
        """The wait is over: return its run; None inside another one."""
        self._depth = max(0, self._depth - 1)
        if self._depth or not self.runs:
            return None
        run = self.runs[-1]
        run.wait_ns += now_ns - self.begin_ns
        run.end_ns = now_ns
        return run

    def batch(self, run: Run, samples: int, *, got: bool) -> None:
        """A fetch brought a batch, or found the iterator at its end."""
        if not got:
            run.ended = True
            self._new_iterators.add(run.loader)
            return
        run.batches += 1
        self._new_iterators.discard(run.loader)
        run.newest_samples = samples
        if samples >= 0:
            run.samples = samples if run.samples < 0 else run.samples + samples

    def settle(self, part: Part, step: int) -> None:
        """Give the fetches since the last backward to the open step, or to a validation."""
        first = self.runs[0]
        if len(self.runs) == 1 and first.batches == 1 and first.loader == self.training_loader:
            part.wait_ns += first.wait_ns  # nearly every step
            part.fetched = True
            self._settle_run(part, first)
            self.runs.clear()
            return
        training, waiting, validation = sort_runs(self.runs, self.training_loader)
        for run in training:
            part.wait_ns += run.wait_ns
        for run in waiting:
            part.wait_ns += run.wait_ns
        part.fetched |= bool(training or waiting)
        if training:
            self._settle_training(part, training)
        if validation:
            part.gap_ns += self._validation(validation, step)
        self.runs.clear()

    def settle_rest(self, step: int) -> None:
        """At the end of the process: what no backward followed was a validation."""
        self._validation([run for run in self.runs if run.loader != self.training_loader], step)
        self.runs.clear()

    def _settle_training(self, part: Part, training: list[Run]) -> None:
        # the last of its runs: one before it was given up, by a break at an epoch's end
        own = [run for run in training if run.loader == self.training_loader]
        main = own[-1] if own else training[0]
        if not own and main.loader == self._heir:
            main.fresh = True  # an epoch left by break and a loader built anew: known one step late
        self._heir = training[-1].loader if own and training[-1].fresh else -1
        self.training_loader = main.loader
        self._settle_run(part, main)

    def _settle_run(self, part: Part, main: Run) -> None:
        if main.fresh:
            self.epoch += 1
            part.flags |= FLAG_EPOCH_START
        part.epoch = self.epoch
        part.add_samples(main.samples)
        part.batches += main.batches
        if main.fresh and main.batches > 1:
            part.ahead_samples = main.newest_samples

    def _validation(self, validation: list[Run], step: int) -> int:
        duration_ns = batches = 0
        for run in validation:
            place = self.runs.index(run) + 1
            end_ns = self.runs[place].begin_ns if place < len(self.runs) else run.end_ns
            duration_ns += end_ns - run.begin_ns
            batches += run.batches
        if batches:
            self._emit_gap(GapRecord(validation[0].begin_ns, duration_ns, batches, step))
        return duration_ns
