"""What the step clock adds up and hands out: an open part of a step, and the finished records.

Apart from the clock so that the sums, and how two parts become one step, can be read on their own.
"""

from typing import NamedTuple

from perftui.ipc.messages import FLAG_LOADER_BOUNDARY, FLAG_PHASES_UNKNOWN, FLAG_WAIT_UNKNOWN
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.batch_sizes import samples_in, tokens_in
from perftui.trainer.probe.stamps import UNKNOWN_CPU


class GapRecord(NamedTuple):
    """A validation, taken out of the step it lies in: loader fetches that no backward followed, or none."""

    at_ns: int
    duration_ns: int
    batches: int
    """0: no loader fed it."""


class Part:
    """A stretch of the training thread that is, or will be joined into, one step. Times in ns.

    CPU times are those of the thread so far, or -1 where they were not asked. Its batches and samples are
    known when it ends, as are the backwards that were matched with them.
    """

    __slots__ = (
        "backward_ns",
        "backwards",
        "batches",
        "cpu_ns",
        "end_cpu_ns",
        "end_ns",
        "epoch",
        "fetched",
        "flags",
        "forward_ns",
        "gap_ns",
        "matched",
        "optimizer_ns",
        "phases_seen",
        "samples",
        "start_cpu_ns",
        "start_ns",
        "stepped",
        "wait_ns",
    )

    def __init__(self, start_ns: int, start_cpu_ns: int) -> None:
        self.stepped: list[int] = []
        self.restart(start_ns, start_cpu_ns)

    def restart(self, start_ns: int, start_cpu_ns: int) -> None:
        """Forget everything and begin here."""
        self.start_ns = self.end_ns = start_ns
        self.start_cpu_ns = self.end_cpu_ns = start_cpu_ns
        self.wait_ns = self.forward_ns = self.backward_ns = self.optimizer_ns = 0
        self.gap_ns = self.cpu_ns = 0
        self.samples = -1
        self.batches = self.backwards = self.matched = self.flags = 0
        self.fetched = self.phases_seen = False
        self.epoch = -1
        self.stepped.clear()

    @property
    def blank(self) -> bool:
        """Whether nothing was put into it yet."""
        return not (
            self.batches
            or self.backwards
            or self.flags
            or self.wait_ns
            or self.gap_ns
            or self.fetched
            or self.stepped
            or self.samples >= 0
        )

    def add_samples(self, samples: int) -> None:
        """Count a batch by its size (`batch_sizes`); -1 stands for one that gives none."""
        if samples >= 0:
            self.samples = samples if self.samples < 0 else self.samples + samples

    def absorb(self, later: "Part") -> None:
        """Take over what a later part measured; the start stays ours."""
        self.wait_ns += later.wait_ns
        self.forward_ns += later.forward_ns
        self.backward_ns += later.backward_ns
        self.optimizer_ns += later.optimizer_ns
        self.gap_ns += later.gap_ns
        self.add_samples(later.samples)
        self.batches += later.batches
        self.backwards += later.backwards
        self.matched += later.matched
        self.flags |= later.flags
        self.fetched |= later.fetched
        self.phases_seen |= later.phases_seen
        self.epoch = max(self.epoch, later.epoch)
        self.end_ns, self.end_cpu_ns = later.end_ns, later.end_cpu_ns
        for optimizer in later.stepped:
            if optimizer not in self.stepped:
                self.stepped.append(optimizer)

    def record(self, step: int, end_ns: int, end_cpu_ns: int, epoch: int) -> StepRecord:
        """Return the finished step that ends here."""
        wall_ns = end_ns - self.start_ns - self.gap_ns
        cpu_ns = UNKNOWN_CPU
        if self.start_cpu_ns >= 0 and end_cpu_ns >= 0:
            cpu_ns = min(end_cpu_ns - self.start_cpu_ns, wall_ns)  # the CPU of a gap is not known apart
        flags = self.flags
        if not self.fetched:
            flags |= FLAG_WAIT_UNKNOWN
        if not self.phases_seen:
            flags |= FLAG_PHASES_UNKNOWN
        return StepRecord(
            step,
            end_ns,
            wall_ns,
            self.wait_ns,
            self.forward_ns,
            self.backward_ns,
            self.optimizer_ns,
            cpu_ns,
            samples_in(self.samples),
            max(1, min(self.batches, self.backwards)),
            max(0, self.epoch if self.epoch >= 0 else epoch),
            flags,
            tokens=tokens_in(self.samples),
        )


def joined(parts: list[Part]) -> Part:
    """Return parts, in order, as the one step that they have proved to be."""
    first = parts[0]
    for later in parts[1:]:
        first.absorb(later)
    first.flags &= ~FLAG_LOADER_BOUNDARY
    return first
