"""Collects what the rank tells beside its steps: each subject read at its own pace, told when it changed.

All of it runs in the background thread. Each reading goes through the border, so that one that fails costs
its own subject alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from perftui.ipc.facts import RankFacts
from perftui.ipc.messages import BLANK, Facts, RankEvent
from perftui.trainer.probe.allocator_reading import AllocatorReader
from perftui.trainer.probe.backend_reading import read_backends
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_reading import CompileReader
from perftui.trainer.probe.effective import InForce
from perftui.trainer.probe.environment_reading import read_environment, read_own_environment
from perftui.trainer.probe.gc_pauses import GcWatch, pause_text
from perftui.trainer.probe.happening import Happening
from perftui.trainer.probe.live_objects import live_objects
from perftui.trainer.probe.model_reading import read_model
from perftui.trainer.probe.optimizer_reading import OptimizerReader
from perftui.trainer.probe.parallel_reading import ParallelReader
from perftui.trainer.probe.phase_reading import PhaseReader
from perftui.trainer.probe.process_reading import read_process
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.root_modules import RootModules
from perftui.trainer.probe.step_times import StepTimes
from perftui.trainer.probe.thread_looks import ThreadLooks

_SECOND = 1_000_000_000
_OFTEN_NS, _SOMETIMES_NS, _SELDOM_NS, _RARELY_NS = _SECOND, 3 * _SECOND, 10 * _SECOND, 60 * _SECOND
_ALL_AGAIN_NS = 60 * _SECOND
EVENTS_AT_ONCE = 24
"""So many events of a kind may come at once; after that one in ten seconds. Totals count them all."""
_EVENT_EVERY_NS = 10 * _SECOND
NO_OPTIMIZER = "no optimizer of torch was built"
NOT_LOOKED = "the training thread was not looked at yet"
UNREADABLE = "could not be read; the probe's errors say why"

Reading: TypeAlias = tuple[Any, str | None]
"""A value, or None and the reason."""


@dataclass
class _Subject:
    """One field of `RankFacts`."""

    name: str
    every_ns: int
    read: Callable[[], Reading | None]
    due_ns: int = 0
    told: Reading = (None, None)

    def look(self, now_ns: int) -> None:
        """Read anew. What had a value keeps it when there is none any more: the object is gone."""
        self.due_ns = now_ns + self.every_ns
        reading = self.read() or (None, UNREADABLE)
        if reading[0] is not None or self.told[0] is None:
            self.told = reading


class FactsTeller:
    """Reads all subjects of one process.

    Args:
        recorder: of this process.
        wall_offset_ns: unix time minus perf_counter.
        times: when the newest steps ended: what happens is given the step in which it happened.

    Attributes:
        phases: is to be told of steps, validations and checkpoints.
    """

    def __init__(self, recorder: Recorder, wall_offset_ns: int, times: StepTimes) -> None:
        self._recorder = recorder
        self._times = times
        self._compile = CompileReader(wall_offset_ns)
        self._allocator = AllocatorReader()
        self._gc = GcWatch()
        self._gc.begin()
        self.phases = PhaseReader(recorder)
        self._looks = ThreadLooks()
        self._modules = RootModules()
        self.look = recorder.border.guard("stack", self._look)
        self._parallel = ParallelReader(live_objects, recorder.sampling.syncs, lambda: recorder.clock.steps)
        self._device: str | None = None
        self._loader: int | None = None
        self._subjects = self._make_subjects()
        self._all_again_ns = 0
        self._allowances: dict[str, _Allowance] = {}

    def _make_subjects(self) -> list[_Subject]:
        optimizers, flags = self._living_optimizers, OptimizerReader()
        readers: tuple[tuple[str, int, Callable[[], Reading]], ...] = (
            ("compile", _OFTEN_NS, self._compile.read),
            ("gc", _OFTEN_NS, lambda: (self._gc.facts(), None)),
            ("allocator", _OFTEN_NS, lambda: self._allocator.read(self._device)),
            ("sampling", _OFTEN_NS, self._read_sampling),
            ("batch", _OFTEN_NS, self._read_batch),
            ("loading", _OFTEN_NS, lambda: self._recorder.making.read(self._loader)),
            ("phases", _OFTEN_NS, self.phases.read),
            ("backends", _SELDOM_NS, self._read_backends),
            ("environment", _SELDOM_NS, lambda: (read_environment(), None)),
            ("own_environment", _SELDOM_NS, read_own_environment),
            ("parallel", _OFTEN_NS, self._parallel.read),
            ("optimizers", _SELDOM_NS, lambda: (flags.read(optimizers()) or None, NO_OPTIMIZER)),
            ("model", _RARELY_NS, self._read_model),
            ("process", _OFTEN_NS, read_process),
            ("stacks", _SOMETIMES_NS, lambda: (self._looks.facts(), NOT_LOOKED)),
        )
        guard = self._recorder.border.guard
        return [_Subject(name, every, guard(f"facts: {name}", read)) for name, every, read in readers]

    def forget(self) -> None:
        """The hub may know nothing: tell all again at the next reading."""
        self._all_again_ns = 0

    def read(self, now_ns: int, in_force: InForce, *, at_end: bool = False) -> list[Facts | RankEvent]:
        """Read what is due and return what is new.

        Args:
            now_ns: perf_counter.
            in_force: the newest reading of the settings.
            at_end: read the totals once more; the process ends, and its objects may be gone.
        """
        self.phases.at_end = at_end
        self._device = in_force.device
        self._loader = None if in_force.loader is None else in_force.loader.index
        all_again = now_ns >= self._all_again_ns
        told: dict[str, Reading] = {}
        for subject in self._subjects:
            before = subject.told
            if subject.name == "model" and self._modules.changed:
                subject.due_ns = 0
            if now_ns >= subject.due_ns or (at_end and subject.every_ns <= _SOMETIMES_NS):
                subject.look(now_ns)
            if all_again or subject.told != before:
                told[subject.name] = subject.told
        if all_again:
            self._all_again_ns = now_ns + _ALL_AGAIN_NS
        messages: list[Facts | RankEvent] = [*self._events(now_ns)]
        if told:
            messages.append(Facts(**BLANK, at_ns=now_ns, facts=_as_facts(told)))
        return messages

    def close(self) -> None:
        """Watch no longer."""
        self._gc.end()

    def _look(self) -> None:
        """Look where the training thread is; ten times a second."""
        recorder = self._recorder
        self._looks.iterator = recorder.iterator
        device = recorder.device
        self._looks.modules = self._modules if device is not None and device.type == "cpu" else None
        self._looks.saving = recorder.saving
        window = recorder.window
        if recorder.trainer and not (window is not None and window.recording):
            at_ns = time.perf_counter_ns()
            validating = recorder.reader.now.now().phase == "validation"
            if self._looks.look(recorder.trainer, validating=validating):
                recorder.clock.evaluations.seen(at_ns)

    def _read_backends(self) -> Reading:
        compiling = self._recorder.compiling
        facts = read_backends(own_window=self._own_window(), compiling=lambda: compiling.began_ns >= 0)
        return facts, None

    def _read_model(self) -> Reading:
        optimizers = self._living_optimizers()
        self._modules.changed = False
        if not optimizers:
            return None, NO_OPTIMIZER
        return read_model(optimizers, live_objects.scalers.all(), self._modules.tensors()), None

    def _living_optimizers(self) -> list[Foreign]:
        first = self._recorder.optimizer() if self._recorder.optimizer is not None else None
        known = live_objects.optimizers.all()
        missed = first is not None and all(
            first is not one for one in known
        )  # built without torch's __init__
        return [first, *known] if missed else known

    def _own_window(self) -> bool:
        window = self._recorder.window
        return window is not None and window.active

    def _read_sampling(self) -> Reading:
        trained = self._recorder.clock.fetches.epoch + 1  # before the epochs: what it lags is not counted
        return self._recorder.book.samplers.read(self._loader, trained)

    def _read_batch(self) -> Reading:
        return self._recorder.batch_book.read(self._loader)

    def _events(self, now_ns: int) -> list[RankEvent]:
        happened = [*self._compile.take_happenings(), *self._allocator.take_happenings()]
        happened += [
            Happening(pause.at_ns, "gc", pause_text(pause), pause.duration_ns)
            for pause in self._gc.take_pauses()
        ]
        events: list[RankEvent] = []
        for one in sorted(happened):
            allowance = self._allowances.setdefault(one.kind, _Allowance())
            if allowance.take(now_ns):
                events.append(self._event(one, now_ns))
        return events

    def _event(self, one: Happening, now_ns: int) -> RankEvent:
        at_ns = min(one.at_ns, now_ns)  # what was stamped with unix time may lie ahead
        return RankEvent(
            **BLANK,
            at_ns=at_ns,
            event=one.kind,
            text=one.text,
            duration_ns=one.duration_ns,
            step=self._times.step_at(at_ns),
        )


def _as_facts(told: dict[str, Reading]) -> RankFacts:
    values = {name: value for name, (value, _) in told.items()}
    missing = {name: reason or UNREADABLE for name, (value, reason) in told.items() if value is None}
    return msgspec.structs.replace(RankFacts(), **values, missing=missing)


class _Allowance:
    """Lets so many events pass at once, and later one each ten seconds."""

    def __init__(self) -> None:
        self._left = float(EVENTS_AT_ONCE)
        self._at_ns = 0

    def take(self, now_ns: int) -> bool:
        if self._at_ns:
            self._left = min(EVENTS_AT_ONCE, self._left + (now_ns - self._at_ns) / _EVENT_EVERY_NS)
        self._at_ns = now_ns
        if self._left < 1:
            return False
        self._left -= 1
        return True
