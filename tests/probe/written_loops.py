"""Loops written down as their phases, for the step clock, with exact times (one unit = 1 ns)."""

from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.step_clock import StepClock
from perftui.trainer.probe.step_parts import GapRecord

TRAIN, VAL, OTHER = 1, 2, 3
ADAM, SGD = 100, 200


class Loop:
    """Writes a loop as its phases: each method lets the given time pass.

    Args:
        lengths: how many batches each loader says it has.

    Attributes:
        trains: what can be trained unseen is.
    """

    def __init__(self, lengths: dict[int, int] | None = None) -> None:
        self.trains = True
        lengths = lengths or {}
        self.now = 1000
        self.steps: list[StepRecord] = []
        self.gaps: list[GapRecord] = []
        self.clock = StepClock(self.steps.append, self.gaps.append, 0, lengths.get, lambda: self.trains)

    def iterate(self, ns: int = 5, loader: int = TRAIN) -> "Loop":
        self.clock.iterator_begin(self.now, self.now // 2, loader)
        self.now += ns
        self.clock.iterator_end(self.now)
        return self

    def fetch(
        self, ns: int = 10, loader: int = TRAIN, samples: int = 4, *, got: bool = True, grad: bool = True
    ) -> "Loop":
        self.clock.fetch_begin(self.now, self.now // 2, loader, grad=grad)
        self.now += ns
        self.clock.fetch_end(self.now, samples if got else -1, got=got)
        return self

    def end(self, loader: int = TRAIN) -> "Loop":
        return self.fetch(1, loader, got=False)

    def fail_to_fetch(self, ns: int = 10, loader: int = TRAIN) -> "Loop":
        self.clock.fetch_begin(self.now, self.now // 2, loader)
        self.now += ns
        self.clock.fetch_raised(self.now)
        return self

    def idle(self, ns: int) -> "Loop":
        self.now += ns
        return self

    def backward(self, forward: int = 20, ns: int = 30, *, failed: bool = False) -> "Loop":
        self.now += forward
        self.clock.backward_begin(self.now, self.now // 2)
        self.now += ns
        self.clock.backward_end(self.now, failed=failed)
        return self

    def optimize(self, key: int = ADAM, ns: int = 7, *, skipped: bool = False) -> "Loop":
        self.clock.optimizer_begin(self.now, self.now // 2, key)
        self.now += ns
        self.clock.optimizer_end(self.now, self.now // 2, skipped=skipped)
        return self

    def save(self, ns: int = 40) -> "Loop":
        self.clock.fetches.interrupted(self.now)
        self.now += ns
        return self

    def finish(self) -> list[StepRecord]:
        self.clock.finish(self.now + 9999, 0)
        return self.steps


def phases(step: StepRecord) -> tuple[int, int, int, int, int]:
    return step.wall_ns, step.wait_ns, step.forward_ns, step.backward_ns, step.optimizer_ns


def assert_partition(steps: list[StepRecord]) -> None:
    assert [step.step for step in steps] == list(range(len(steps)))
    for step in steps:
        assert step.wait_ns + step.forward_ns + step.backward_ns + step.optimizer_ns <= step.wall_ns
