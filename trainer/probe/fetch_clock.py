"""The loader side of the step clock: waits, epochs, validation; collected until a backward settles them.

Apart from the step clock because fetches can only be judged afterwards: see `fetches.sort_runs`.
"""

from collections.abc import Callable

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_FAILED
from perftui.trainer.probe.batches_ahead import BatchesAhead
from perftui.trainer.probe.fetches import Run, gaps_of, sort_runs
from perftui.trainer.probe.loader_workers import LOADERS_TOLD
from perftui.trainer.probe.stamps import UNKNOWN_CPU
from perftui.trainer.probe.step_parts import GapRecord, Part

_SURELY_VALIDATION = 8
"""So many batches on end of another loader, and none was trained on."""


class FetchClock:
    """Collects runs of fetches. Times in ns.

    Args:
        emit_gap: receives each validation.
        length_of: returns how many batches a loader has, by its key; None where it does not say.
    """

    def __init__(
        self, emit_gap: Callable[[GapRecord], object], length_of: Callable[[int], int | None]
    ) -> None:
        self.epoch = -1
        """Counted from 0 by the iterators of the training loader; -1 before the first."""
        self.training_loader = -1
        """Key of the loader whose iterators are epochs; -1 before it is known."""
        self.runs: list[Run] = []
        self.begin_ns = 0
        """When the wait that is going on, or the last one, began."""
        self.ahead = BatchesAhead()
        """Batches of the training loader."""
        self._aheads: dict[int, BatchesAhead] = {}
        self._emit_gap = emit_gap
        self._length_of = length_of
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
        return (
            run.loader == self.training_loader
            and not (run.fresh or run.ended or run.batches or run.wait_ns)
            and self.ahead is self._aheads.get(run.loader)
            and self.ahead.regular
        )

    @property
    def validating(self) -> bool:
        """Whether a validation goes on, as far as that can be told before its end.

        A loader that is not the training one is read, without gradients, or several batches on end.
        """
        if not self.runs:
            return False
        run = self.runs[-1]
        if run.loader == self.training_loader or run.ended:
            return False
        return not run.grad or run.batches >= _SURELY_VALIDATION

    def trains(self, loader: int) -> bool:
        """Whether a loader is the one that is known to train."""
        return loader == self.training_loader

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
        self.ahead = BatchesAhead()
        self._aheads.clear()

    def open(self, loader: int, *, grad: bool, new_iterator: bool) -> None:
        """Put the wait that has begun into a run."""
        if new_iterator:
            self._new_iterators.add(loader)
        last = self.runs[-1] if self.runs else None
        if last is not None and last.loader == loader and not last.ended and not new_iterator:
            last.grad = grad
            last.left_ns = None
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
        run.sizes.append(samples)
        self._new_iterators.discard(run.loader)

    def interrupted(self, now_ns: int) -> None:
        """Something else begins, between fetches or after the last of them."""
        if self.runs and self.runs[-1].left_ns is None:
            self.runs[-1].left_ns = now_ns

    def settle(self, part: Part) -> None:
        """Give the fetches since the last backward to the open step, or to a validation."""
        first = self.runs[0]
        if len(self.runs) == 1 and first.batches == 1 and first.loader == self.training_loader:
            part.wait_ns += first.wait_ns  # nearly every step
            part.fetched = True
            self._train(part, [first])
            self.runs.clear()
            return
        training, waiting, validation = sort_runs(self.runs, self.training_loader)
        if self.training_loader < 0 and self.epoch < 0 and validation:
            self._begin_after(part, training + waiting)
        for run in training + waiting:
            part.wait_ns += run.wait_ns
        part.fetched |= bool(training)
        for run in waiting:
            if run.ended and run.loader in self._aheads:
                self._aheads[run.loader].ended = part.fetched = True
        if training:
            self._train(part, training)
        elif self.training_loader < 0 and any(run.fresh and not run.ended for run in waiting):
            self._begin_epoch(part)  # its batches come by a way that nobody sees: another rank sends them
        for gap in gaps_of(self.runs, validation):
            self._emit_gap(gap)
            if gap.at_ns >= part.start_ns:
                part.gap_ns += gap.duration_ns
        self.runs.clear()

    def settle_rest(self) -> None:
        """At the end of the process: what no backward followed was a validation."""
        rest = [run for run in self.runs if run.batches and run.loader != self.training_loader]
        for gap in gaps_of(self.runs, rest):
            self._emit_gap(gap)
        self.runs.clear()

    def trained(self, part: Part) -> None:
        """A part of a step ends: give it the batches it has trained on."""
        taken = self.ahead.take(part.backwards - part.matched, len(part.stepped))
        part.matched = part.backwards
        part.batches += len(taken.sizes)
        for size in taken.sizes:
            part.add_samples(size)
        if taken.given_up:
            part.flags |= FLAG_FAILED
        if taken.epoch_begins:
            self._begin_epoch(part)

    def _begin_after(self, part: Part, following: list[Run]) -> None:
        """Have the very first step begin with its own fetches, not with a validation before them."""
        if part.start_ns == self.runs[0].begin_ns and following:
            start_ns = min(run.begin_ns for run in following)
            if start_ns > part.start_ns:
                part.start_ns, part.start_cpu_ns = start_ns, UNKNOWN_CPU

    def _train(self, part: Part, training: list[Run]) -> None:
        loaders = [run.loader for run in training]
        own = self.training_loader in loaders
        if not own:
            if loaders[0] == self._heir:
                training[0].fresh = True  # an epoch left by break, a loader built anew: known one step late
            self.training_loader = loaders[0]
        self._heir = loaders[-1] if own and training[-1].fresh else -1
        main = [run for run in training if run.loader == self.training_loader]
        ahead = self._aheads.get(self.training_loader) or self._new_ahead(self.training_loader)
        fresh = any(run.fresh for run in main)
        if (fresh or ahead is not self.ahead) and part.backwards > part.matched:
            self.trained(part)  # what came before this iterator
        self.ahead = ahead
        if fresh:
            self._begin_epoch(part)
        part.epoch = self.epoch
        for run in main:
            if run.fresh:
                ahead.renew(self._length_of(run.loader))
            ahead.add(run.sizes)
            ahead.ended |= run.ended

    def _new_ahead(self, loader: int) -> BatchesAhead:
        if len(self._aheads) >= LOADERS_TOLD:
            del self._aheads[next(iter(self._aheads))]
        ahead = self._aheads[loader] = BatchesAhead()
        return ahead

    def _begin_epoch(self, part: Part) -> None:
        self.epoch += 1
        part.epoch = self.epoch
        part.flags |= FLAG_EPOCH_START
