"""Steps of a loop in which neither backward nor optimizer can be seen: each fetch of its loader is one.

Apart from the step clock because it is a bet: as long as a backward may still come, the fetches may have been
a validation. So the first ones are held back, and forgotten when a backward comes. Those in which nothing can
have been trained (a pass over the data, for its mean or its words) are none at all.
"""

from collections.abc import Callable

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_FAILED, FLAG_LOADER_BOUNDARY
from perftui.trainer.probe.step_parts import Part

HELD_FETCHES = 64
"""So many fetches with gradients on, and no backward among them, make it a loop of its own."""


class BlindLoop:
    """Turns fetches of one loader into parts, each ready to be a step.

    Args:
        may_train: tells whether something may have been trained since it was last asked.
    """

    def __init__(self, may_train: Callable[[], bool]) -> None:
        self._may_train = may_train
        self.bound = False
        """Enough was seen: parts are to be taken as steps."""
        self.ready: list[Part] = []
        self._open: Part | None = None
        self._passed_over = False
        """The last batch was, with nothing trained on it."""
        self._loader = -1
        self._epoch = -1

    def fetch_begin(self, now_ns: int, cpu_ns: int, loader: int, *, grad: bool) -> None:
        """A fetch begins: the part that is open ends, if it got a batch and this is its loader."""
        part = self._open = self._close(now_ns, cpu_ns)
        if not grad or (self.bound and loader != self._loader):
            self._open = None
        elif loader != self._loader:
            self._loader = loader
            self.ready.clear()
            self._open = Part(now_ns, cpu_ns)
        elif part is None:
            self._open = Part(now_ns, cpu_ns)
        self.bound = self.bound or len(self.ready) >= HELD_FETCHES

    def _close(self, now_ns: int, cpu_ns: int) -> Part | None:
        """End the open part if it has its batch, else return it: it goes on."""
        part, passed_over = self._open, self._passed_over
        trained = self.bound or self._may_train()
        self._passed_over = False
        if part is None or (passed_over and not part.batches):  # at the end of a pass over the data
            return None
        if not part.batches:
            return part
        part.end_ns, part.end_cpu_ns = now_ns, cpu_ns
        if trained:
            self.ready.append(part)
        else:
            self._passed_over = True
            self._epoch -= bool(part.flags & FLAG_EPOCH_START)
        return None

    def fetch_end(self, loader: int, wait_ns: int, samples: int, *, got: bool, fresh: bool) -> None:
        """The fetch is over, with a batch or without."""
        part = self._open
        if part is None or loader != self._loader:
            return
        part.wait_ns += wait_ns
        part.fetched = True
        if not got:
            return
        if fresh:
            self._epoch += 1
            part.flags |= FLAG_EPOCH_START
        part.flags |= FLAG_LOADER_BOUNDARY
        part.epoch = self._epoch
        part.batches += 1
        part.add_samples(samples)

    def forget(self) -> None:
        """Events were lost: begin with the next fetch."""
        self.ready.clear()
        self._open = None

    def finish(self, now_ns: int, cpu_ns: int) -> list[Part]:
        """The process ends: return the parts that are left."""
        self.fetch_begin(now_ns, cpu_ns, -1, grad=False)
        for part in self.ready:
            if part.end_ns == now_ns:
                part.flags |= FLAG_FAILED  # the loop was left by break: when, nobody saw
        return self.ready
