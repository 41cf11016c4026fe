"""What the hooks call: turns events of the training thread into finished steps, cheaply.

Apart from the hooks, which only patch, and from the step clock, which knows neither torch nor a clock. Only
the training thread counts: the first that runs a backward or an optimizer. Fetches elsewhere (prefetchers)
are not waits.
"""

import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from typing import NamedTuple, Protocol

import torch

from perftui.ipc.messages import FLAG_COMPILING, FLAG_PROFILED
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.compiling import CompileWatch
from perftui.trainer.probe.loader_reading import AnyLoader
from perftui.trainer.probe.loader_settings import LOADERS_KEPT, LoaderBook
from perftui.trainer.probe.loss import LossSampler
from perftui.trainer.probe.samples import SampleCounter
from perftui.trainer.probe.step_clock import StepClock
from perftui.trainer.probe.step_parts import GapRecord

STEPS_KEPT = 16384
"""More than the agent can miss in one wake, at 10,000 steps a second and more."""
_KEY = "_perftui_loader"
_FOREIGN_LOADER = 1_000_000
"""Key of iterators that no DataLoader.__iter__ made."""


class Save(NamedTuple):
    """A checkpoint that was written."""

    at_ns: int
    duration_ns: int
    step: int
    text: str


class Window(Protocol):
    """What the hot path needs of a profiling window's runner."""

    active: bool
    recording: bool

    def at_boundary(self, step: int) -> None:
        """Called in the training thread at each step boundary while `active`."""


class Recorder:
    """Lives in each process that imported torch; inert until something trains."""

    def __init__(self, border: Border, book: LoaderBook, on_awake: Callable[[], object]) -> None:
        self.border = border
        self.book = book
        self._on_awake = border.guard("agent", on_awake)
        self.reset()

    def reset(self) -> None:
        """Start from nothing: at the beginning, and in a forked child."""
        self.steps: deque[StepRecord] = deque(maxlen=STEPS_KEPT)
        self.gaps: deque[GapRecord] = deque(maxlen=256)
        self.saves: deque[Save] = deque(maxlen=256)
        self.loss = LossSampler()
        self.clock = StepClock(self.steps.append, self.gaps.append)
        self.window: Window | None = None
        self.optimizer: weakref.ref[torch.optim.Optimizer] | None = None
        self.awake = False
        """A first training event has been seen: the agent runs."""
        self._thread = 0
        self._thread_known = False
        self._counters: dict[int, SampleCounter] = {}
        self._count = self.border.guard("samples", self._samples)  # batches are of any type and may raise
        self._compiled = self.border.guard("compile", CompileWatch().changed)
        self._sample_loss = self.border.guard("loss", self.loss.sample)
        self._at_boundary = self.border.guard("window", self._tell_window)
        self._scaled: tuple[int, bool] | None = None

    # Loader

    def iterator_begin(self, loader: AnyLoader) -> None:
        """`DataLoader.__iter__` is entered."""
        if self._is_training_thread():
            key = self.book.key(loader)
            self._after(
                self.clock.iterator_begin(
                    perf_counter_ns(), thread_time_ns(), key, grad=torch.is_grad_enabled()
                )
            )

    def iterator_end(self, loader: AnyLoader, iterator: object) -> None:
        """`DataLoader.__iter__` is left; `iterator` is None where it raised."""
        if self._is_training_thread():
            self.clock.iterator_end(perf_counter_ns())
        if iterator is not None:
            vars(iterator)[_KEY] = self.book.note(loader)

    def fetch_begin(self, iterator: object) -> None:
        """A batch is asked for."""
        if not self._is_training_thread():
            return
        if self._compiled():
            self.clock.flag(FLAG_COMPILING)
        key = vars(iterator).get(_KEY, _FOREIGN_LOADER)
        self._after(
            self.clock.fetch_begin(perf_counter_ns(), thread_time_ns(), key, grad=torch.is_grad_enabled())
        )

    def fetch_end(self, iterator: object, batch: object) -> None:
        """The batch is there."""
        if not self._is_training_thread():
            return
        now = perf_counter_ns()
        samples = self._count(vars(iterator).get(_KEY, _FOREIGN_LOADER), batch)
        self.clock.fetch_end(now, -1 if samples is None else samples)

    def fetch_failed(self, _iterator: object) -> None:
        """The iterator is at its end, or the fetch raised."""
        if self._is_training_thread():
            self.clock.fetch_end(perf_counter_ns(), got=False)

    def _samples(self, key: int, batch: object) -> int:
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = SampleCounter()
            self._counters.pop(key - LOADERS_KEPT, None)
        loader = self.book.loader(key)
        return counter.count(batch, loader.batch_size if loader is not None else None)

    # Backward and optimizer

    def backward_begin(self, root: object) -> None:
        """`torch.autograd.backward` is entered."""
        if not self._claim_thread():
            return
        self._sample_loss(self.clock.steps, root)
        self.clock.backward_begin(perf_counter_ns(), self._cpu_ns())

    def backward_end(self, failed: bool) -> None:
        """`torch.autograd.backward` is left."""
        if self._is_training_thread():
            self.clock.backward_end(perf_counter_ns(), failed=failed)

    def optimizer_begin(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        if not self._claim_thread():
            return
        if self.optimizer is None:
            self.optimizer = weakref.ref(optimizer)
        if self._scaled is not None:
            self._scaled = (self._scaled[0], True)
        if self._compiled():
            self.clock.flag(FLAG_COMPILING)
        self._after(self.clock.optimizer_begin(perf_counter_ns(), self._cpu_ns(), id(optimizer)))

    def optimizer_end(self) -> None:
        """It has stepped."""
        if self._is_training_thread():
            self.clock.optimizer_end(perf_counter_ns(), thread_time_ns())

    def scaler_begin(self, optimizer: torch.optim.Optimizer) -> None:
        """`GradScaler.step` is entered: it may or may not let the optimizer step."""
        if self._claim_thread():
            self._scaled = (id(optimizer), False)
            self._after(self.clock.optimizer_begin(perf_counter_ns(), self._cpu_ns(), -id(optimizer)))

    def scaler_end(self) -> None:
        """`GradScaler.step` is left."""
        if self._is_training_thread():
            stepped = self._scaled is not None and self._scaled[1]
            self._scaled = None
            self.clock.optimizer_end(perf_counter_ns(), thread_time_ns(), skipped=not stepped)

    # Script and checkpoints

    def expect_steps(self) -> None:
        """The script will say where its steps end."""
        if self._claim_thread():
            self.clock.expect_steps(perf_counter_ns(), thread_time_ns())

    def explicit_step(self, samples: int | None) -> None:
        """The script says that a step is over."""
        if self._claim_thread():
            if self._compiled():
                self.clock.flag(FLAG_COMPILING)
            self._after(self.clock.step(perf_counter_ns(), thread_time_ns(), samples))

    def saved(self, begin_ns: int, text: str) -> None:
        """A checkpoint was written."""
        self.saves.append(Save(begin_ns, perf_counter_ns() - begin_ns, self.clock.steps, text))

    def finish(self) -> None:
        """The process ends."""
        self.clock.finish(perf_counter_ns(), thread_time_ns())

    # Threads and boundaries

    def _cpu_ns(self) -> int:
        return 0 if self.clock.started else thread_time_ns()

    def _is_training_thread(self) -> bool:
        here = get_ident()
        if self._thread == here:
            return True
        if self._thread:
            return False
        self._thread = here  # for now: a backward elsewhere takes it
        return True

    def _claim_thread(self) -> bool:
        here = get_ident()
        if not self._thread_known:
            if self._thread not in (0, here):
                steps = self.clock.steps
                self.clock = StepClock(self.steps.append, self.gaps.append)
                self.clock.steps = steps
            self._thread = here
            self._thread_known = True
            self._wake()
        return self._thread == here

    def _wake(self) -> None:
        if not self.awake:
            self.awake = True
            self._on_awake()

    def _after(self, closed: int) -> None:
        if closed:
            self._wake()
            self.border.step_begins(self.clock.steps)
            window = self.window
            if window is not None and window.active:
                self._at_boundary(window)

    def _tell_window(self, window: Window) -> None:
        recorded = window.recording
        window.at_boundary(self.clock.steps)
        if recorded or window.recording:
            self.clock.flag(FLAG_PROFILED)
