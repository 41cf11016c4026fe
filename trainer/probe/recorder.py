"""The training thread's side of the probe: whose stamps count, and what must be done at once.

Apart from the hooks, which only patch and stamp, and from the stamp reader, which judges later. Only the
training thread counts: the first that runs a backward or an optimizer. Fetches elsewhere (prefetchers) are
not waits.
"""

import os
import weakref
from collections import deque
from collections.abc import Callable
from threading import RLock, get_ident
from time import perf_counter_ns, thread_time_ns
from typing import Protocol, TypeVar

import torch

from perftui.ipc.messages import FLAG_PROFILED
from perftui.trainer.probe.batch_making import BatchMaking
from perftui.trainer.probe.batch_signature import BatchBook
from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.compiling import CompileWatch
from perftui.trainer.probe.copied_generators import copies_in_workers
from perftui.trainer.probe.elsewhere import Elsewhere
from perftui.trainer.probe.expected_window import wanted_window
from perftui.trainer.probe.loader_settings import LOADERS_KEPT, LoaderBook
from perftui.trainer.probe.loader_workers import WorkerPids
from perftui.trainer.probe.loss import LossSampler
from perftui.trainer.probe.optimizer_cycle import OptimizerCycle
from perftui.trainer.probe.own_cost import OwnCost
from perftui.trainer.probe.phase_sampling import PhaseSampling
from perftui.trainer.probe.samples import SampleCounter
from perftui.trainer.probe.saves import Save
from perftui.trainer.probe.saving_threads import SavingThreads
from perftui.trainer.probe.sleeping import VARIABLE, Sleep, wanted_every
from perftui.trainer.probe.stamp_reader import StampReader
from perftui.trainer.probe.stamps import (
    EXPECT_STEPS,
    EXPLICIT_STEP,
    ITERATOR_BEGIN,
    ITERATOR_END,
    RESTART,
    SCALER_BEGIN,
    SCALER_END,
    UNKNOWN_CPU,
    StampRing,
)
from perftui.trainer.probe.step_clock import HELD_MICRO_BATCHES, StepClock
from perftui.trainer.probe.unseen_work import UnseenWork
from perftui.trainer.probe.validating import Validating
from perftui.trainer.probe.worker_states import WorkerStates

LOADER_KEY = "_perftui_loader"
"""Attribute of an iterator: the key of its loader."""
FOREIGN_LOADER = 1_000_000
"""Key of iterators that no DataLoader.__iter__ made."""
T = TypeVar("T")


class Window(Protocol):
    """What the training thread needs of a profiling window's runner."""

    active: bool
    recording: bool

    def at_boundary(self, step: int) -> None:
        """Called in the training thread at each step boundary while `active`."""

    def at_validation(self, step: int) -> None:
        """Called instead while a validation goes on."""

    def hold(self) -> None:
        """Called at whatever else is stamped while `recording`."""


class Recorder:
    """Lives in each process that imported torch; inert until something trains.

    Attributes:
        thread: the thread whose fetches count; 0 before the first.
        trainer: the same, once it is known to train; 0 before.
        live: the training thread itself turns stamps into steps, at each of them.
        batches: fetches of the training thread; steps, in a loop without a loader.
    """

    def __init__(self, border: Border, book: LoaderBook, on_awake: Callable[[], object]) -> None:
        self.border = border
        self.book = book
        self._on_awake = border.guard("agent", on_awake)
        self._read_on = border.guard("steps", self._read_stamps)
        self.ring = StampRing(self._attend)
        self.sampling = PhaseSampling(self.ring, border)
        self.sleep = Sleep(self, self.ring)
        self.elsewhere = Elsewhere()
        self.wanted_sleep = wanted_every(os.environ.get(VARIABLE, ""))
        """One step of how many the environment asks for; None to leave it to the agent."""
        self.wake_up = border.guard("sleep", self.sleep.wake)
        self.counts: dict[int, Callable[[object], int | None]] = {}
        """By key of the loader: what counts the samples of a batch."""
        self.batch_book = BatchBook(book.index_of)
        self.look = border.guard("batch", lambda key, batch: self.batch_book.look(key, batch))
        self.at_step = border.guard("sampling", self._at_step)
        self.mark = border.guard("device", self.sampling.mark)
        self.follow_backward = border.guard("backward", self.sampling.follow_backward)
        self.sample_loss = border.guard("loss", self._sample_loss)
        self.note_scaled = border.guard("loss scale", self._note_scaled)
        self.note_root = border.guard("device", self._note_root)
        self._at_window = border.guard("window", self._tell_window)
        self._key_of = border.guard("iterator", book.key)
        self._read_loader = border.guard("loader", book.note)
        self._read_generators = border.guard("generators", copies_in_workers)
        self.making = BatchMaking()
        self.states = WorkerStates(border)
        self.saving = SavingThreads()
        self.validating = Validating()
        self.compiling = CompileWatch(border, self._compiled, self._compile_begins)
        self.reset()

    def reset(self) -> None:
        """Start from nothing: at the beginning, and in a forked child."""
        self._lock = RLock()
        """Taken to read; a thread may come twice, by a signal handler of the script's that saves."""
        self._reading = False
        self.ring.skip()
        self.unseen = UnseenWork()
        self.reader = StampReader(self._length_of, self.unseen.possible)
        self.cost = OwnCost()
        self.saves: deque[Save] = deque(maxlen=256)
        self.compiled: deque[tuple[int, int]] = deque(maxlen=1024)
        """Compilations that have ended: (begin, end), ns."""
        self.loss = LossSampler()
        self.window: Window | None = None
        self.window_expected = wanted_window() is not None
        """The environment asks for a window: stay live until the agent has armed it."""
        self.optimizer: weakref.ref[torch.optim.Optimizer] | None = None
        self.device: torch.device | None = None
        """The device that trains."""
        self._boundary_missed = False
        """A step has closed at the beginning of a validation that goes on."""
        self.sampling.forget()
        self.sleep.forget()
        self.sleep.every = self.wanted_sleep or 0
        self.awake = False
        """A first training event has been seen: the agent runs."""
        self.thread = 0
        self.trainer = 0
        self.batches = 0
        self.batches_stepped = 0
        """Value of `batches` when an optimizer last stepped."""
        self.backed = False
        """A backward has begun since the cycle was last asked."""
        self.cycle = OptimizerCycle()
        self.elsewhere.forget()
        self.loss_at = 0
        """Value of `batches` from which a backward is worth a look."""
        self._unreadable: set[int] = set()
        """Indices of loaders that cannot be read."""
        self.iterator: weakref.ref[Foreign] | None = None
        """What the newest loader to be iterated gives its batches by."""
        self._making = False
        """The training thread makes an iterator."""
        self.read_ahead = -1
        """Key of the loader that another thread has last taken a batch from; -1 before one has."""
        self.counts.clear()
        self.workers = WorkerPids()
        self.batch_book = BatchBook(self.book.index_of)
        self.go_live()

    @property
    def clock(self) -> StepClock:
        """The step clock, as far as it has been fed."""
        return self.reader.clock

    # Whose stamps count

    def claim_wait(self) -> bool:
        """A thread fetches that is not known: it counts, for now, if no other has."""
        if self.thread:
            return self.thread == get_ident()
        self.thread = get_ident()
        return True

    def claim_work(self) -> bool:
        """A thread trains that is not known: it is the training thread, if no other is."""
        here = get_ident()
        if not self.trainer:
            if self.thread not in (0, here):
                self.ring.put(RESTART, perf_counter_ns(), UNKNOWN_CPU, 0)
            self.thread = self.trainer = here
            self._wake()
        return self.trainer == here

    def _wake(self) -> None:
        if not self.awake:
            self.awake = True
            self._read_on()
            self.live = self.window_expected
            self._on_awake()

    # What is done at once

    def begin_iterator(self, loader: Foreign) -> bool:
        """A loader begins to make an iterator; False where that does not count, or is known already."""
        at_ns = perf_counter_ns()  # first: what follows is a part of the wait
        if get_ident() != self.thread and not self.claim_wait():
            return False
        if self._making:
            return False
        self._making = True
        if self.sleep.due:
            self.wake_up()
        key = self._key_of(loader)
        value = (FOREIGN_LOADER if key is None else key) * 2 + torch.is_grad_enabled()
        self.ring.put(ITERATOR_BEGIN, at_ns, thread_time_ns(), value)
        return True

    def end_iterator(self) -> None:
        """It has made it."""
        self._making = False
        if get_ident() == self.thread:
            self.ring.put(ITERATOR_END, perf_counter_ns(), UNKNOWN_CPU, 0)

    def note_iterator(self, loader: Foreign, iterator: object) -> None:
        """A loader has made an iterator, or goes on with one."""
        key = vars(iterator)[LOADER_KEY] = self.book.key(loader)  # first: what is read next may fail
        index = self.book.index(loader)
        if index not in self._unreadable and self._read_loader(loader) is None:
            self._unreadable.add(index)  # not asked again: the others are to be read on
        self.validating.iterated(self.book.facts(key))
        self.workers.note(key, iterator)
        self.book.samplers.iterate(index, iterator)
        copied = self._read_generators(loader) or []
        self.book.samplers.keep_workers(index, self.states.page, self.workers.pids(key), copied)
        if get_ident() == self.thread:
            self.iterator = weakref.ref(iterator)

    def note_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """The first optimizer steps."""
        self.optimizer = weakref.ref(optimizer)
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        first = next(parameters, None)
        if first is not None and (self.device is None or first.device.type != "cpu"):
            self.device = first.device  # an optimizer that is kept on the CPU may train a GPU's model

    def _note_root(self, roots: Foreign) -> None:
        """The first backward begins, from a root on the device that trains; an optimizer may say better."""
        root: Foreign = roots if isinstance(roots, torch.Tensor) else roots[0]
        self.device = root.device

    def _at_step(self, at_ns: int, fetched: bool) -> bool:
        """Something may be due as a step begins; True where it is to be slept through."""
        sampling, sleep = self.sampling, self.sleep
        if sleep.due:
            sleep.wake(at_fetch=fetched)
        if self.batches_stepped != self.batches and self.optimizer is not None:
            return False
        known = self.optimizer is not None or self.batches > HELD_MICRO_BATCHES
        sampling.at_step(self.batches, at_ns, self.device if known else None, fetched=fetched)
        sleeps = fetched and sleep.begins(self.batches, at_ns) and not (sampling.on or self.live)
        sampling.next_at = 0 if sleeps else min(sampling.next_at, sleep.next_at())
        return sleeps

    def sleep_one_of(self, steps: int) -> None:
        """Have one step of so many slept through from now on, 0 for none; the agent says so."""
        if steps != self.sleep.every:
            self.sleep.every = steps
            self.sampling.next_at = 0  # the training thread looks once, and goes by what it finds

    def _compile_begins(self) -> None:
        """What is compiled to be trained may take minutes before its first step: that is to be seen."""
        self.unseen.compiled = True
        if not self.awake and torch.is_grad_enabled():
            self._wake()

    def _compiled(self, begin_ns: int, end_ns: int) -> None:
        self.reader.details.compiles.append((begin_ns, end_ns))
        self.compiled.append((begin_ns, end_ns))

    def step_left_out(self, optimizer: torch.optim.Optimizer) -> None:
        """A setting has kept an optimizer from a step, as a GradScaler of the script's would."""
        for stamp in (SCALER_BEGIN, SCALER_END):
            self.ring.put(stamp, perf_counter_ns(), UNKNOWN_CPU, id(optimizer))

    def expect_steps(self) -> None:
        """The script will say where its steps end."""
        if get_ident() == self.trainer or self.claim_work():
            if self.sleep.due:
                self.wake_up()
            self.ring.put(EXPECT_STEPS, perf_counter_ns(), thread_time_ns(), 0)
            self._read_on()  # now: a fast loop may overwrite it before the agent has started

    def explicit_step(self, samples: int | None) -> None:
        """The script says that a step is over."""
        if get_ident() == self.trainer or self.claim_work():
            if self.sleep.due:
                self.wake_up()
            value = -1 if samples is None else int(samples)
            self.ring.put(EXPLICIT_STEP, perf_counter_ns(), thread_time_ns(), value)

    def _length_of(self, key: int) -> int | None:
        facts = self.book.facts(key)
        return None if facts is None else facts.batches_per_epoch

    def count_of(self, key: int, first: object) -> Callable[[object], int | None]:
        """Return what counts the samples of a loader's batches, and look at its first."""
        self.look(key, first)
        count = self.counts.get(key)
        if count is None:
            facts = self.book.facts(key)
            counter = SampleCounter(None if facts is None else facts.batch_size)
            count = self.counts[key] = self.border.guard("samples", counter.count)  # any type may come
            self.counts.pop(key - LOADERS_KEPT, None)
        return count

    def _sample_loss(self, root: object) -> None:
        self.loss_at = self.loss.sample(self.batches, perf_counter_ns(), root)

    def _note_scaled(self, scaler: Foreign, scaled: Foreign) -> None:
        self.loss.note_scaled(scaler, scaled)

    # Stamps into steps

    def go_live(self) -> None:
        """Have the training thread know its steps from now on: before there is an agent, and in windows."""
        self.live = True
        self.ring.attend_from(0)

    def pump(self) -> None:
        """Turn what was stamped into steps; the agent's thread, unless the training thread does it live."""
        if not self.live:
            self._read_stamps()

    def finish(self) -> None:
        """The process ends."""
        if self.sleep.due:
            self.wake_up()
        self._read_stamps()
        self._alone(lambda: self.reader.finish(perf_counter_ns(), thread_time_ns()))

    def _read_stamps(self) -> int:
        return self._alone(self._read) or 0

    def _alone(self, act: Callable[[], T]) -> T | None:
        """Let one act on the reader at a time; None where this thread itself is in the middle of another."""
        with self._lock:
            if self._reading:
                return None
            try:
                self._reading = True
                return act()
            finally:
                self._reading = False

    def _read(self) -> int:
        lost = self.ring.lost
        stamps = self.ring.take()
        if self.ring.lost != lost:
            self.reader.skip(self.ring.lost - lost)
        return self.reader.read(stamps)

    def _attend(self, number: int, at_ns: int, cpu_ns: int) -> None:
        self.cost.note(number, perf_counter_ns() - at_ns, with_cpu=cpu_ns >= 0)
        if self.live:
            self._go_on()
        else:
            self.ring.attend_from(self.cost.next_stamp)

    def _go_on(self) -> None:
        closed = self._read_on()
        if closed:
            self._wake()
        window = self.window
        if window is not None and window.active:
            self._at_window(window, bool(closed))
        elif closed and not self.window_expected:
            self.live = False

    def _tell_window(self, window: Window, closed: bool) -> None:
        """Have the window know its boundaries; one at which a validation begins comes after that."""
        recorded = window.recording
        if self.clock.validating:
            self._boundary_missed |= closed
            window.at_validation(self.clock.steps)
        elif closed or self._boundary_missed:
            self._boundary_missed = False
            window.at_boundary(self.clock.steps)
        elif recorded:
            window.hold()
        if recorded or window.recording:
            self.clock.flag(FLAG_PROFILED)
