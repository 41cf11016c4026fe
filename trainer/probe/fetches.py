"""Which loader fetches before a backward fed it, and which were validation: by order alone, no torch.

A run is a row of fetches from one iterator. `[V V V end] [T]` before a backward means that T trains and V was
validation; `[A] [B]` (two loaders zipped) both train; `[T] [V V end]` is a validation between the batch's
arrival and its forward; `[T] [L end] [L]`, where T trains, are two loaders zipped of which L is cycled.
"""

from typing import NamedTuple


class Run:
    """Consecutive fetches from one iterator. Times in ns."""

    __slots__ = (
        "batches",
        "begin_ns",
        "end_ns",
        "ended",
        "fresh",
        "grad",
        "loader",
        "newest_samples",
        "samples",
        "wait_ns",
    )

    def __init__(self, loader: int, begin_ns: int, *, fresh: bool, grad: bool) -> None:
        self.loader = loader
        self.begin_ns = begin_ns
        self.end_ns = begin_ns
        self.wait_ns = 0
        self.batches = 0
        self.samples = -1
        self.newest_samples = -1
        """Of the last batch."""
        self.ended = False
        """The iterator was found empty."""
        self.fresh = fresh
        """The first fetches of a new iterator: an epoch, if this loader trains."""
        self.grad = grad
        """Gradients were on at the last fetch."""


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
