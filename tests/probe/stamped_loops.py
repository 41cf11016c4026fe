"""Loops written down as stamps, with exact times (one unit = 1 ns), read in wakes as the agent reads them."""

from perftui.ipc.facts import PhaseFacts
from perftui.trainer.probe import stamps
from perftui.trainer.probe.phase_ledger import PhaseLedger, Present
from perftui.trainer.probe.stamp_reader import StampReader
from perftui.trainer.probe.stamps import UNKNOWN_CPU, Stamp

TRAIN, VAL, OTHER = 1, 2, 3
ADAM = 100
BEGAN = 1_000


class StampedLoop:
    """Each method lets the given time pass; a wake takes in what was stamped since the last."""

    def __init__(self) -> None:
        self.now = 2_000
        self.reader = StampReader()
        self.ledger = PhaseLedger(BEGAN)
        self._stamps: list[Stamp] = []
        self._saves: list[tuple[int, int]] = []
        self._saved_ns = -1

    def _put(self, code: int, value: int = 0, cpu_ns: int = UNKNOWN_CPU) -> None:
        self._stamps.append((code, self.now, cpu_ns, value))

    def idle(self, ns: int) -> "StampedLoop":
        self.now += ns
        return self

    def iterate(self, loader: int = TRAIN, ns: int = 5, *, grad: bool = True) -> "StampedLoop":
        self._put(stamps.ITERATOR_BEGIN, loader * 2 + grad, self.now // 2)
        self.now += ns
        self._put(stamps.ITERATOR_END)
        return self

    def ask(self, loader: int = TRAIN, *, grad: bool = True) -> "StampedLoop":
        self._put(stamps.FETCH_BEGIN, loader * 2 + grad, self.now // 2)
        return self

    def fetch(self, loader: int = TRAIN, ns: int = 10, *, grad: bool = True) -> "StampedLoop":
        self.ask(loader, grad=grad)
        self.now += ns
        self._put(stamps.FETCH_END, 4, -1)
        return self

    def end(self, loader: int = TRAIN, ns: int = 1, *, grad: bool = True) -> "StampedLoop":
        self.ask(loader, grad=grad)
        self.now += ns
        self._put(stamps.FETCH_FAILED)
        return self

    def fail_to_fetch(self, loader: int = TRAIN, ns: int = 10) -> "StampedLoop":
        self.ask(loader)
        self.now += ns
        self._put(stamps.FETCH_FAILED, stamps.RAISED)
        return self

    def work(self, forward: int = 20, backward: int = 30, optimizer: int = 7) -> "StampedLoop":
        self.now += forward
        self._put(stamps.BACKWARD_BEGIN)
        self.now += backward
        self._put(stamps.BACKWARD_END)
        self._put(stamps.OPTIMIZER_BEGIN, ADAM)
        self.now += optimizer
        self._put(stamps.OPTIMIZER_END)
        return self

    def replay(self) -> "StampedLoop":
        self._put(stamps.REPLAYED, ADAM, self.now // 2)
        return self

    def step(self) -> "StampedLoop":
        """67 in all."""
        return self.fetch().work()

    def begin_save(self) -> "StampedLoop":
        self._put(stamps.SAVE_BEGIN)
        return self

    def save(self, ns: int = 40) -> "StampedLoop":
        self.begin_save()
        self._saves.append((self.now, self.now + ns))
        self.now += ns
        return self

    def evaluate(self, batches: int = 3, loader: int = VAL, *, grad: bool = False) -> "StampedLoop":
        """Lasts 5 + 25 a batch, and 1 in which the loader is found empty."""
        self.iterate(loader, grad=grad)
        for _ in range(batches):
            self.fetch(loader, grad=grad).idle(15)
        return self.end(loader, grad=grad)

    def call_eval(self) -> "StampedLoop":
        self._put(stamps.EVALUATES)
        return self

    def wake(self, *, at_end: bool = False, compiling_ns: int = -1) -> PhaseFacts:
        """Take in what is there; return what would be told now."""
        self.reader.read(self._stamps)
        self._stamps = []
        if at_end:
            self.reader.finish(self.now, UNKNOWN_CPU)
        reader, ledger = self.reader, self.ledger
        ledger.add("between", [reader.turns.spans.popleft() for _ in range(len(reader.turns.spans))])
        gaps = [reader.gaps.popleft() for _ in range(len(reader.gaps))]
        ledger.add("validation", [(gap.at_ns, gap.at_ns + gap.duration_ns) for gap in gaps])
        ledger.add("checkpoint", self._saves)
        self._saved_ns = max([self._saved_ns, *(begin for begin, _ in self._saves)])
        self._saves = []
        ledger.stepped([reader.steps.popleft() for _ in range(len(reader.steps))])
        present = Present(
            reader.now.now(self._saved_ns),
            reader.now.newest_ns,
            reader.now.evaluations(self.now),
            compiling_ns,
        )
        return ledger.read(self.now, present, at_end=at_end)

    def sums(self, *, at_end: bool = True) -> dict[str, int]:
        """Return the sums so far in ns, without those that are 0; they sum to all the time there was."""
        facts = self.wake(at_end=at_end)
        assert sum(self.ledger.sums_ns.values()) == self.now - BEGAN
        assert set(facts.seconds) <= set(self.ledger.sums_ns)
        return {phase: ns for phase, ns in self.ledger.sums_ns.items() if ns}
