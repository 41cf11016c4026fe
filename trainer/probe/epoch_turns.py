"""From the last work of an epoch to the first batch of the next: when its loader begins anew. No torch.

Apart from the fetch clock, which says which epoch a step belongs to: what lies between epochs is no step's
own, and a rule or a chart wants to know how long it was. Told by the stamp reader at the few stamps that
matter; a regular step costs nothing here.
"""

from collections import deque

from perftui.trainer.probe.loader_workers import LOADERS_TOLD
from perftui.trainer.probe.phase_spans import Span

_KEPT = 256


class EpochTurns:
    """Collects turns until a backward proves which loader trains. Times in ns.

    Attributes:
        spans: turns that are certain, for the agent to take.
        worked_ns: when the training thread last ended a backward or an optimizer step; -1 before.
        pending: something was noted since the last work.
    """

    def __init__(self) -> None:
        self.spans: deque[Span] = deque(maxlen=_KEPT)
        self.worked_ns = -1
        self.pending = False
        self._from_ns = -1
        self._arrivals: dict[int, int | None] = {}
        """Loaders with a new iterator, and when that brought its first batch."""

    def found_empty(self, begin_ns: int) -> None:
        """The training loader's iterator has no more batches; the fetch that found out began then."""
        self._open(begin_ns)

    def iterator_begins(self, at_ns: int, loader: int) -> None:
        """A loader makes an iterator."""
        self._open(self.worked_ns if self.worked_ns >= 0 else at_ns)
        if loader in self._arrivals or len(self._arrivals) < LOADERS_TOLD:
            self._arrivals[loader] = None

    def batch(self, at_ns: int, loader: int) -> None:
        """A batch has come; only needed while `pending`."""
        if self._arrivals.get(loader, -1) is None:
            self._arrivals[loader] = at_ns

    def work_begins(self, training_loader: int) -> None:
        """A backward begins, so it is known which loader it is that trains; only needed while `pending`."""
        arrived_ns = self._arrivals.get(training_loader)
        if arrived_ns is not None:
            self.spans.append((self._from_ns, arrived_ns))
        self._arrivals.clear()
        self.pending = False

    def _open(self, from_ns: int) -> None:
        if not self.pending:
            self.pending = True
            self._from_ns = from_ns
