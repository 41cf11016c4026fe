"""Where a step begins and ends, and what its time went to: pure, all times are passed in, no torch.

A step closes at the first loader fetch after an optimizer has stepped; without fetches, when the first
optimizer of the cycle steps again; when no optimizer can be seen, at the first fetch after a backward, else
at each fetch, if anything can have been trained. What cannot be judged at once is held back until it can: the
first micro-batches of a run (will an optimizer follow?), an optimizer that steps again after one fetch (twice
a batch, or a loop on one batch?), and one that steps again after one backward (`group_steps`).

A step that `GradScaler` skips counts, marked failed; so does one whose backward or optimizer raised. A batch
that was fetched and never trained on is merged into the next step, which is marked. Validation is taken out
of the step in which it lies and handed out as a gap.
"""

from collections.abc import Callable

from perftui.ipc.messages import FLAG_EXPLICIT_BOUNDARY, FLAG_FAILED, FLAG_LOADER_BOUNDARY
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.batch_sizes import with_samples
from perftui.trainer.probe.blind_loop import BlindLoop
from perftui.trainer.probe.evaluations import Evaluations
from perftui.trainer.probe.fetch_clock import FetchClock
from perftui.trainer.probe.group_steps import GroupSteps
from perftui.trainer.probe.phase_clock import PhaseClock
from perftui.trainer.probe.script_steps import ScriptSteps
from perftui.trainer.probe.step_outlet import StepOutlet
from perftui.trainer.probe.step_parts import GapRecord, Part, joined

HELD_MICRO_BATCHES = 64  # so many backwards, each after a fetch, and no optimizer: then none can be seen
HELD_REPEATS = 8  # an optimizer that steps so often without a fetch is in a loop without a loader
LOST_OPTIMIZER_BACKWARDS = 1024  # so many after the last optimizer step: it was compiled out of sight


class StepClock:
    """The state machine; fed by one thread. Every method that may close steps says how many it did.

    Args:
        emit: receives each finished step.
        emit_gap: receives each validation.
        first_step: index of the first step.
        length_of: returns how many batches a loader has, by its key; None where it does not say.
        may_train: tells whether something may have been trained unseen since it was last asked.
    """

    def __init__(
        self,
        emit: Callable[[StepRecord], object],
        emit_gap: Callable[[GapRecord], object],
        first_step: int = 0,
        length_of: Callable[[int], int | None] = lambda _key: None,
        may_train: Callable[[], bool] = lambda: True,
    ) -> None:
        self._outlet = StepOutlet(emit, first_step)
        self._fetches = FetchClock(emit_gap, length_of)
        self.evaluations = Evaluations(emit_gap)
        self._phases = PhaseClock(self.evaluations)
        self._part: Part | None = None
        self._tail: Part | None = None
        """Work after the last optimizer step that may belong to the next step."""
        self._held: list[Part] = []
        self._groups = GroupSteps()
        self._blind: BlindLoop | None = BlindLoop(may_train)
        self._optimizer_known = self._micro_batches_bound = False
        self._script = ScriptSteps()

    def expect_steps(self, now_ns: int, cpu_ns: int) -> None:
        """The script will call `step`; the first step begins now, unless something has begun it already."""
        self._script.expecting, self._groups.making = True, False
        if self._part is None:
            self._part = Part(now_ns, cpu_ns)

    def flag(self, flags: int) -> None:
        """Mark the step that is open."""
        if self._part is not None:
            self._part.flags |= flags

    def resume(self, step: int, *, whole: bool) -> None:
        """Events were lost: this step is open now; if it is not `whole`, it began among them."""
        self._outlet.steps, self._outlet.drop_next = step, not whole
        self._phases = PhaseClock(self.evaluations)
        self._fetches.forget()
        if self._blind is not None:
            self._blind.forget()
        self._part = self._tail = None
        self._held.clear()
        self._groups.forget()
        self._script.give_up()

    @property
    def steps(self) -> int:
        """Steps closed so far: the index of the one that is open."""
        return self._outlet.steps

    @property
    def fetches(self) -> FetchClock:
        """What is known of the loaders."""
        return self._fetches

    @property
    def validating(self) -> bool:
        """Whether a validation goes on, as far as that can be told before its end."""
        return self._blind is None and self._fetches.validating

    @property
    def steady(self) -> bool:
        """Whether the open step has just begun with a fetch, and all is as usual: see `regular_steps`."""
        part = self._part
        return (
            part is not None
            and part.blank
            and self._optimizer_known
            and self._fetches.only_begun
            and self._blind is None
            and not (self._held or self._groups.parts or self._script.any)
            and self._tail is None
            and self._phases.idle
        )

    def advance(self, step: int, begin_ns: int, cpu_ns: int, optimized_ns: int) -> None:
        """From `steady` to `steady`: the steps before this one were made elsewhere.

        Its fetch begins now, and the optimizer of the one before ended at `optimized_ns`.
        """
        if self._part is not None:
            self._outlet.steps = step
            self._phases.mark_ns = optimized_ns
            self._part.restart(begin_ns, cpu_ns)
            self._fetches.begin_again(begin_ns)

    # Loader

    def iterator_begin(self, now_ns: int, cpu_ns: int, loader: int, *, grad: bool = True) -> int:
        """A loader's iterator is being made: its time is wait of the step that follows."""
        return self._wait_begins(now_ns, cpu_ns, loader, grad=grad, new_iterator=True)

    def iterator_end(self, now_ns: int) -> None:
        """The iterator is made."""
        if self._fetches.leave(now_ns) is not None:
            self._phases.mark_ns = now_ns

    def fetch_begin(self, now_ns: int, cpu_ns: int, loader: int, *, grad: bool = True) -> int:
        """A batch is asked for."""
        return self._wait_begins(now_ns, cpu_ns, loader, grad=grad, new_iterator=False)

    def fetch_end(self, now_ns: int, samples: int = -1, *, got: bool = True) -> None:
        """The batch is there; without `got`, the iterator is at its end."""
        run = self._fetches.leave(now_ns)
        if run is None:
            return
        self._phases.mark_ns = now_ns
        self._fetches.batch(run, samples, got=got)
        if self._blind is not None:
            wait_ns = now_ns - self._fetches.begin_ns
            fresh = run.fresh and run.batches == 1
            self._blind.fetch_end(run.loader, wait_ns, samples, got=got, fresh=fresh)

    def fetch_raised(self, now_ns: int) -> None:
        """There is no batch and no end: a script that passes over bad samples asks the iterator again."""
        run = self._fetches.leave(now_ns)
        if run is None:
            return
        self._phases.mark_ns = now_ns
        if self._blind is not None:
            self._blind.fetch_end(run.loader, now_ns - self._fetches.begin_ns, -1, got=False, fresh=False)

    def _wait_begins(self, now_ns: int, cpu_ns: int, loader: int, *, grad: bool, new_iterator: bool) -> int:
        if not self._fetches.enter(now_ns):
            return 0
        before = self.steps
        self._phases.goes_on(self._tail or self._part, now_ns, "fetch", training=self._fetches.trains(loader))
        if self._groups.making:
            self._training_begins()
        if self._part is None:
            self._part = Part(now_ns, cpu_ns)
        elif not self._script.explicit:
            self._boundary_at_fetch(now_ns, cpu_ns)
        if self._blind is not None:
            self._blind.fetch_begin(now_ns, cpu_ns, loader, grad=grad)
            if self._blind.bound:
                self._emit_all(self._blind.ready)
                self._fetches.runs.clear()
                self._part = Part(now_ns, cpu_ns)
        self._fetches.open(loader, grad=grad, new_iterator=new_iterator)
        return self.steps - before

    # Backward and optimizer

    def backward_begin(self, now_ns: int, cpu_ns: int) -> None:
        """`torch.autograd.backward` is entered."""
        if not self._phases.enter_backward():
            return
        if self._groups.making and not self._phases.optimizing:
            self._training_begins()
        part = self._work_begins(now_ns, cpu_ns)
        if part.stepped and not (self._script.explicit or self._phases.optimizing):
            part = self._tail = self._tail or Part(part.end_ns, part.end_cpu_ns)
        self._phases.backward_begins(part, now_ns)

    def backward_end(self, now_ns: int, *, failed: bool = False) -> None:
        """`torch.autograd.backward` is left."""
        part = self._tail or self._part
        if not self._phases.leave_backward() or part is None:
            return
        part.backwards += 1
        if failed:
            part.flags |= FLAG_FAILED
        self._phases.backward_ends(part, now_ns)
        if part.stepped and part is self._part:  # by optimizers that stepped inside it
            part.end_ns = now_ns

    def optimizer_begin(self, now_ns: int, cpu_ns: int, key: int, *, whole: bool = False) -> int:
        """An optimizer begins to step; `key` names it. `whole`: the backward before it is in it, unseen."""
        if self._phases.optimizing and not self._last_step_raised(key):
            self._phases.enter_optimizer()  # wrapped in GradScaler.step, or a subclass that calls its base
            return 0
        part = self._work_begins(now_ns, cpu_ns)
        self._phases.pause_backward(self._tail or part, now_ns)
        before = self.steps
        self._optimizer_known = True
        self._micro_batches_bound = False
        if self._held and not self._held[0].stepped:
            part = self._part = self._join_held(part)
        if part.stepped and not self._script.explicit:
            if key != part.stepped[0] and not (whole and (part.backwards or key in part.stepped)):
                self._fold_tail(part)
            elif not whole and self._again_for_a_group(part):
                self._part = Part(part.end_ns, part.end_cpu_ns)
                for each in self._groups.lost():
                    self._repeat_ends(each)
            else:
                self._boundary_at_repeat(self._groups.join(part))
        self._phases.optimizer_begins(now_ns, key)
        return self.steps - before

    def optimizer_end(self, now_ns: int, cpu_ns: int, *, skipped: bool = False) -> None:
        """An optimizer has stepped; `skipped`: `GradScaler` found no finite gradients."""
        part = self._part
        if part is None or not self._phases.leave_optimizer():
            return
        self._phases.optimizer_ends(part, now_ns)
        if self._phases.optimizer_key not in part.stepped:
            part.stepped.append(self._phases.optimizer_key)
        if skipped:
            part.flags |= FLAG_FAILED
        part.end_ns, part.end_cpu_ns = now_ns, cpu_ns

    def _last_step_raised(self, key: int) -> bool:
        part = self._part
        began_ns = self._phases.last_step_raised(key)
        if part is None or began_ns is None:
            return False
        part.flags |= FLAG_FAILED
        part.end_ns = began_ns
        part.end_cpu_ns = part.start_cpu_ns
        if key not in part.stepped:
            part.stepped.append(key)
        return True

    def _training_begins(self) -> None:
        self._part = self._groups.training_begins(self._part)
        if self._part is None:
            self._phases.mark_ns = None

    def _work_begins(self, now_ns: int, cpu_ns: int) -> Part:
        self._blind = None
        part = self._part
        if part is None:
            part = self._part = Part(now_ns, cpu_ns)
        self._fetches.forget_open()
        if self._fetches.runs:
            self._fetches.settle(part)
        return part

    # Explicit steps and the end

    def step(self, now_ns: int, cpu_ns: int, samples: int | None = None) -> int:
        """The script says that a step is over; from now on only it does."""
        before = self.steps
        kept = self._script.tell()
        part = self._work_begins(now_ns, cpu_ns)
        self._fold_tail(part)
        part = joined([*kept, self._join_held(part)])
        self._fetches.trained(part)
        if samples is not None:
            part.samples = with_samples(part.samples, samples)
        part.flags |= FLAG_EXPLICIT_BOUNDARY
        self._let_go(part, now_ns, cpu_ns)
        self._phases.mark_ns = now_ns
        return self.steps - before

    def finish(self, now_ns: int, cpu_ns: int) -> int:
        """The process ends: close what is whole, at the time at which it was."""
        before = self.steps
        blind, self._blind = self._blind, None
        if blind is not None:
            self._emit_all(blind.finish(now_ns, cpu_ns))
        elif not self._script.explicit:
            self._finish_cycle(cpu_ns)
        self._fetches.settle_rest()
        return self.steps - before

    def _finish_cycle(self, cpu_ns: int) -> None:
        self._emit_all(self._script.give_up())
        self._emit_all(self._held)
        if self._groups.making:
            self._emit_all(self._groups.parts)
        if self._part is None:
            return
        part = self._groups.join(self._part)
        if part.stepped:
            self._close(part, part.end_ns, part.end_cpu_ns)
        elif part.backwards and not self._optimizer_known and self._phases.mark_ns is not None:
            part.flags |= FLAG_LOADER_BOUNDARY
            self._close(part, self._phases.mark_ns, cpu_ns)

    # Boundaries

    def _boundary_at_fetch(self, now_ns: int, cpu_ns: int) -> None:
        if self._part is None:
            return
        part = self._part = self._groups.join(self._part)
        if self._phases.give_up_optimizer():  # its step raised: the end never came
            part.flags |= FLAG_FAILED
        self._fold_tail(part)
        if part.stepped:
            self._close(self._join_held(part), now_ns, cpu_ns)
        elif part.flags & FLAG_FAILED:
            self._close(part, now_ns, cpu_ns)
        elif part.backwards:
            self._micro_batch_ends(part, now_ns, cpu_ns)

    def _micro_batch_ends(self, part: Part, now_ns: int, cpu_ns: int) -> None:
        if self._optimizer_known:
            if part.backwards >= LOST_OPTIMIZER_BACKWARDS:
                self._optimizer_known = False
                part.flags |= FLAG_FAILED
                self._close(part, now_ns, cpu_ns)
            return
        part.flags |= FLAG_LOADER_BOUNDARY
        if self._micro_batches_bound:
            self._close(part, now_ns, cpu_ns)
            return
        self._fetches.trained(part)
        part.end_ns, part.end_cpu_ns = now_ns, cpu_ns
        self._held.append(part)
        self._part = Part(now_ns, cpu_ns)
        if len(self._held) >= HELD_MICRO_BATCHES:
            self._micro_batches_bound = True
            self._emit_all(self._held)

    def _boundary_at_repeat(self, part: Part) -> None:
        self._part = self._tail or Part(part.end_ns, part.end_cpu_ns)
        self._tail = None
        self._repeat_ends(part)

    def _again_for_a_group(self, part: Part) -> bool:
        if self._tail is not None or self._phases.closure:  # a backward came between, or will within
            return False
        return self._groups.hold(part, inside=self._phases.backing)

    def _repeat_ends(self, part: Part) -> None:
        self._fetches.trained(part)
        if self._script.expecting:
            self._emit_all(self._script.keep(part))
            return
        if not part.fetched and not self._held:
            self._outlet.put(part, part.end_ns, part.end_cpu_ns, self._fetches.epoch)
            return
        self._held.append(part)
        if len(self._held) >= HELD_REPEATS:
            self._emit_all(self._held)

    def _fold_tail(self, part: Part) -> None:
        if self._tail is not None:
            part.absorb(self._tail)
            self._tail = None

    def _join_held(self, part: Part) -> Part:
        part = self._groups.join(part)
        held, self._held = self._held, []
        return joined([*held, part]) if held else part

    def _close(self, part: Part, end_ns: int, end_cpu_ns: int) -> None:
        self._fetches.trained(part)
        self._let_go(part, end_ns, end_cpu_ns)

    def _let_go(self, part: Part, end_ns: int, end_cpu_ns: int) -> None:
        if self._script.expecting:
            part.end_ns, part.end_cpu_ns = end_ns, end_cpu_ns
            self._emit_all(self._script.keep(part))
            part = Part(end_ns, end_cpu_ns)
        else:
            self._outlet.put(part, end_ns, end_cpu_ns, self._fetches.epoch)
            part.restart(end_ns, end_cpu_ns)
        self._part = part

    def _emit_all(self, parts: list[Part]) -> None:
        for part in parts:
            self._outlet.put(part, part.end_ns, part.end_cpu_ns, self._fetches.epoch)
        parts.clear()
