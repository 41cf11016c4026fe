"""A step in which the hooks sleep, so that it can be held against its awake neighbours: its shadow.

Apart from the hooks because it happens in one step of some thirty. From the arrival of the step's batch to
the end of its optimizer's step the hooks do nothing but note how far the step has come. Then they leave, late
and all at one time, the stamps that they would have left: so steps, samples and epochs are counted as ever.
Where the step turns out to be another than fetch, backward, optimizer, fetch, they wake at once, having
missed nothing but times.

What is done all the same (the fetch with its stamps, the late stamps, the call round the backward) is timed,
and taken off the step. What remains unseen are the calls into the hooks, and their question whether torch is
compiling.
"""

from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, NamedTuple, Protocol

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.stamps import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    BACKWARD_FAILED,
    FETCH_BEGIN,
    FETCH_END,
    FETCH_FAILED,
    OPTIMIZER_BEGIN,
    OPTIMIZER_END,
    UNKNOWN_CPU,
    StampRing,
)

VARIABLE: Final = "PERFTUI_SHADOW"
"""`off`: never. A number: one step of so many, from the first one on. Otherwise as `shadow_plan` says."""
AWAKE: Final = 0
SLEPT: Final = 1
"""Value of a BACKWARD_BEGIN that was left late: the step's phases are not known."""
_NEVER: Final = 1 << 62
_FACTOR, _SHIFT = 2654435761, 7  # Knuth's multiplicative hash: which batch is slept through repeats nothing


class Slept(NamedTuple):
    """A step that was slept through whole. Times in ns."""

    begin_ns: int
    rest_ns: int
    """Of it, what the hooks did all the same."""


class Sleeper(Protocol):
    """What sleeping needs of the recorder."""

    thread: int
    batches: int
    batches_stepped: int
    counts: dict[int, Callable[[object], int | None]]

    def count_of(self, key: int, first: object) -> Callable[[object], int | None]:
        """Return what counts the samples of a loader's batches."""


class Sleep:
    """Lives in the training thread; the agent sets `every` and takes `done`.

    Attributes:
        due: AWAKE; else the code of the stamp that comes next, if the step is like the others.
        every: one step of so many is slept through, on average; 0 for none.
        key: of the optimizer that steps.
        done: steps that were slept through whole, oldest first.
        broken: how many were not.
    """

    __slots__ = (
        "_begin_ns", "_next", "_recorder", "_rest_ns", "_ring", "broken", "done", "due", "every", "key",
    )  # fmt: skip

    def __init__(self, recorder: Sleeper, ring: StampRing) -> None:
        self._recorder = recorder
        self._ring = ring
        self.done: deque[Slept] = deque(maxlen=4096)
        self.forget()

    def forget(self) -> None:
        """Start from nothing: in a forked child."""
        self.due = AWAKE
        self.every = 0
        self.key = 0
        self.broken = 0
        self.done.clear()
        self._next = _NEVER
        self._begin_ns = self._rest_ns = 0

    def next_at(self) -> int:
        """Return the number of batches from which `begins` is worth a call."""
        return self._next if self.every else _NEVER

    def begins(self, batches: int, at_ns: int) -> bool:
        """Tell whether the step that begins now is slept through.

        Args:
            batches: how many came before it.
            at_ns: when its fetch began.
        """
        if not self.every:
            self._next = _NEVER
            return False
        if self._next == _NEVER or batches < self._next:
            if self._next == _NEVER:
                self._plan_next(batches)
            return False
        self._plan_next(batches)
        self._begin_ns = at_ns
        return True

    def _plan_next(self, batches: int) -> None:
        half = self.every // 2
        spread = ((batches * _FACTOR) >> _SHIFT) % (2 * half + 1)
        self._next = batches + self.every - half + spread

    # The stations of a step

    def fetch(self, original: Callable[[Foreign], Foreign], iterator: Foreign, key: int) -> Foreign:
        """Fetch the batch, and fall asleep."""
        recorder, put = self._recorder, self._ring.put
        here = recorder.thread
        self._rest_ns = perf_counter_ns() - self._begin_ns
        try:
            batch = original(iterator)
        except BaseException as error:
            if recorder.thread == here:
                raised = not isinstance(error, StopIteration)
                put(FETCH_FAILED, perf_counter_ns(), UNKNOWN_CPU, raised)
            raise
        end_ns = perf_counter_ns()
        if recorder.thread == here:
            count = recorder.counts.get(key) or recorder.count_of(key, batch)
            samples = count(batch)
            recorder.batches += 1
            self._ring.leave((FETCH_END, end_ns, UNKNOWN_CPU, -1 if samples is None else samples))
            self.due = BACKWARD_BEGIN
            self._rest_ns += perf_counter_ns() - end_ns
        return batch

    def backward(
        self,
        original: Callable[..., None],
        begin_ns: int,
        tensors: Foreign,
        args: tuple[Foreign, ...],
        kwargs: dict[str, Foreign],
    ) -> None:
        """Go backward asleep; `begin_ns`: when the hook was called."""
        self.due = BACKWARD_END
        self._rest_ns += perf_counter_ns() - begin_ns
        try:
            original(tensors, *args, **kwargs)
        except BaseException:
            self.wake()
            self._ring.put(BACKWARD_FAILED, perf_counter_ns(), UNKNOWN_CPU, 0)
            raise
        if self.due == BACKWARD_END:
            self.due = OPTIMIZER_BEGIN
        else:  # something inside has woken us
            self._ring.leave((BACKWARD_END, perf_counter_ns(), UNKNOWN_CPU, 0))

    def optimizer_ends(self) -> None:
        """The optimizer has stepped: leave what was not left; the next fetch shows whether this was all."""
        at_ns = perf_counter_ns()
        self._leave_late(at_ns)
        self._ring.leave((OPTIMIZER_END, at_ns, UNKNOWN_CPU, 0))
        self._recorder.batches_stepped = self._recorder.batches
        self.due = FETCH_BEGIN
        self._rest_ns += perf_counter_ns() - at_ns

    def wake(self, *, at_fetch: bool = False) -> None:
        """Something comes that may not have been due: leave what was not left, and be awake.

        Args:
            at_fetch: the next batch is asked for.
        """
        if at_fetch and self.due == FETCH_BEGIN:
            self.done.append(Slept(self._begin_ns, self._rest_ns))
        else:
            self.broken += 1
            self._leave_late(perf_counter_ns())
        self.due = AWAKE

    def _leave_late(self, at_ns: int) -> None:
        leave, due = self._ring.leave, self.due
        if due in (BACKWARD_END, OPTIMIZER_BEGIN, OPTIMIZER_END):
            leave((BACKWARD_BEGIN, at_ns, UNKNOWN_CPU, SLEPT))
        if due in (OPTIMIZER_BEGIN, OPTIMIZER_END):
            leave((BACKWARD_END, at_ns, UNKNOWN_CPU, 0))
        if due == OPTIMIZER_END:
            leave((OPTIMIZER_BEGIN, at_ns, UNKNOWN_CPU, self.key))


def wanted_every(text: str) -> int | None:
    """Return one step of how many the environment asks for, 0 for none; None to leave it to the plan."""
    if text == "off":
        return 0
    return int(text) if text.isdigit() and int(text) > 0 else None
