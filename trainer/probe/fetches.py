"""Which loader fetches before a backward fed it, and which were validation: by order alone, no torch.

A run is a row of fetches from one iterator. `[V V V end] [T]` before a backward means that T trains and V was
validation; `[A] [B]` (two loaders zipped) both train; `[T] [V V end]` is a validation between the batch's
arrival and its forward; `[T] [L end] [L]`, where T trains, are two loaders zipped of which L is cycled.
"""

from itertools import zip_longest
from typing import NamedTuple

from perftui.trainer.probe.step_parts import GapRecord


class Run:
    """Consecutive fetches from one iterator. Times in ns."""

    __slots__ = ("begin_ns", "end_ns", "ended", "fresh", "grad", "left_ns", "loader", "sizes", "wait_ns")

    def __init__(self, loader: int, begin_ns: int, *, fresh: bool, grad: bool) -> None:
        self.loader = loader
        self.begin_ns = begin_ns
        self.end_ns = begin_ns
        self.left_ns: int | None = None
        """When something else was seen to begin after its last fetch: a checkpoint."""
        self.wait_ns = 0
        self.sizes: list[int] = []
        """Samples of its batches; -1 for a batch that gives no size."""
        self.ended = False
        """The iterator was found empty."""
        self.fresh = fresh
        """The first fetches of a new iterator: an epoch, if this loader trains."""
        self.grad = grad
        """Gradients were on at the last fetch."""

    @property
    def batches(self) -> int:
        """How many it brought."""
        return len(self.sizes)


class Sorted(NamedTuple):
    """Runs by what they were for, each list in order."""

    training: list[Run]
    waiting: list[Run]
    """Only found the iterator empty: time at an epoch's end, no batch."""
    validation: list[Run]


def sort_runs(runs: list[Run], training_loader: int = -1) -> Sorted:
    """Sort the runs between the last backward and this one.

    Args:
        runs: in order.
        training_loader: key of the loader that is known to train; -1 before one is.
    """
    waiting = [run for run in runs if not run.batches]
    training = _training([run for run in runs if run.batches], runs, training_loader)
    validation = [run for run in runs if run.batches and run not in training]
    return Sorted(training, waiting, validation)


def _training(filled: list[Run], runs: list[Run], training_loader: int) -> list[Run]:
    last_end = max((place for place, run in enumerate(runs) if run.ended), default=-1)
    group = [run for run in runs[last_end + 1 :] if run.batches]
    before = [run for run in runs[: last_end + 1] if run.batches == 1 and not run.ended]
    own = [run for run in before if run.loader == training_loader]
    if not group and not own:  # a validation came between the batch and its forward
        group = [run for run in filled if not run.ended]
    if not group and not own and filled and (not filled[-1].fresh or filled[-1].batches == 1):
        group = filled[-1:]  # the last batches of a loader that is read ahead
    if any(run.grad for run in group):
        group = [run for run in group if run.grad]
    return own + [run for run in group if run.batches == 1 or run is group[-1]]


def gaps_of(runs: list[Run], validation: list[Run]) -> list[GapRecord]:
    """Return the validations, each iterator one; those that take turns (zipped loaders) are one together.

    A validation lasts until its iterator is found empty: what follows is not its own. Where it is read ahead,
    that leaves out the work on its last batch, of which nobody saw the end. Where the end is never asked for,
    it lasts until the next thing that is seen, a checkpoint or a fetch.

    Args:
        runs: all of them, in order.
        validation: those that were for validation.
    """
    groups: list[list[Run]] = []
    for run in validation:
        place = len(groups) if run.fresh else _group_of(run, groups)
        taking_turns = [earlier for group in groups[place + 1 :] for earlier in group]
        del groups[place + 1 :]
        if place == len(groups):
            groups.append([])
        groups[place] += [*taking_turns, run]
    following: dict[int, Run | None] = {id(run): after for run, after in zip_longest(runs, runs[1:])}
    return [_gap(group, following) for group in groups]


def _group_of(run: Run, groups: list[list[Run]]) -> int:
    """Return the place of the validation that this run goes on with; one past the end for none."""
    for place in reversed(range(len(groups))):
        if any(earlier.loader == run.loader for earlier in groups[place]):
            return place
    return len(groups)


def _gap(group: list[Run], following: dict[int, Run | None]) -> GapRecord:
    duration_ns = sum(_end_ns(run, following[id(run)]) - run.begin_ns for run in group)
    return GapRecord(group[0].begin_ns, duration_ns, sum(run.batches for run in group))


def _end_ns(run: Run, following: Run | None) -> int:
    if run.ended:
        return run.end_ns
    if run.left_ns is not None:
        return run.left_ns
    return run.end_ns if following is None else following.begin_ns
