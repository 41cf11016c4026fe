"""Steps of a loop in which neither backward nor optimizer can be seen: each fetch of its loader is one.

Apart from the step clock because it is a bet: as long as a backward may still come, the fetches may have been
a validation. So the first ones are held back, and forgotten when a backward comes.
"""

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_LOADER_BOUNDARY
from perftui.trainer.probe.step_parts import Part

HELD_FETCHES = 64
"""So many fetches with gradients on, and no backward among them, make it a loop of its own."""


class BlindLoop:
    """Turns fetches of one loader into parts, each ready to be a step."""

    def __init__(self) -> None:
        self.bound = False
        """Enough was seen: parts are to be taken as steps."""
        self.ready: list[Part] = []
        self._open: Part | None = None
        self._loader = -1
        self._epoch = -1

    def fetch_begin(self, now_ns: int, cpu_ns: int, loader: int, *, grad: bool) -> None:
        """A fetch begins: the part that is open ends, if it got a batch and this is its loader."""
        part = self._open
        if part is not None and part.batches:
            part.end_ns, part.end_cpu_ns = now_ns, cpu_ns
            self.ready.append(part)
            self._open = part = None
        if not grad or (self.bound and loader != self._loader):
            self._open = None
        elif loader != self._loader:
            self._loader = loader
            self.ready.clear()
            self._open = Part(now_ns, cpu_ns)
        elif part is None:
            self._open = Part(now_ns, cpu_ns)
        self.bound = self.bound or len(self.ready) >= HELD_FETCHES

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

    def take(self) -> list[Part]:
        """Return the parts that are ready, and forget them."""
        taken, self.ready = self.ready, []
        return taken
