"""How forward, backward and optimizer follow each other and nest, and the time of each.

Apart from the step clock, which decides to which part of a step they belong: here is only when a phase
begins and ends. A backward may run inside a backward (checkpointed parts) or inside an optimizer (closures),
and an optimizer inside an optimizer (`GradScaler`) or inside a backward (fused into it by hooks): each moment
is counted once.

A closure's forward and backward are what they are everywhere, as all of Lightning's steps run in one. What
lies between two runs of a closure (LBFGS) counts to the forward: how much of it is the optimizer's own work,
nobody sees.
"""

from perftui.trainer.probe.evaluations import End, Evaluations
from perftui.trainer.probe.step_parts import Part


class PhaseClock:
    """Adds the times of phases to parts. Times in ns.

    Args:
        evaluations: told of what lies between phases; what it finds is taken out of the part.

    Attributes:
        mark_ns: end of the last phase: a forward begins here; None before the first.
        optimizer_key: names the optimizer that steps, or did last.
    """

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self.mark_ns: int | None = None
        self.optimizer_key = 0
        self._begin_ns = 0
        """When the phase that goes on began, or went on."""
        self._optimizer_began_ns = 0
        self._backward_depth = 0
        self._optimizer_depth = 0
        self._closure = False
        """A backward ran inside the optimizer that steps."""

    @property
    def idle(self) -> bool:
        """Whether no backward and no optimizer goes on."""
        return not (self._backward_depth or self._optimizer_depth)

    @property
    def optimizing(self) -> bool:
        """Whether an optimizer steps."""
        return self._optimizer_depth > 0

    @property
    def backing(self) -> bool:
        """Whether a backward goes on."""
        return self._backward_depth > 0

    @property
    def closure(self) -> bool:
        """Whether a backward ran inside the optimizer that stepped last."""
        return self._closure

    def goes_on(self, part: Part | None, now_ns: int, end: End, *, training: bool = True) -> None:
        """The next phase begins: leave out of the part what was evaluated since the last one.

        Args:
            part: the one that is open; None before the first.
            now_ns: when it begins.
            end: what it is.
            training: it belongs to the training; a loader of an evaluation tells of that by itself.
        """
        if part is None or self.mark_ns is None:
            return
        if not training:
            self._evaluations.forget(now_ns)
            return
        gap_ns = self._evaluations.ends(self.mark_ns, now_ns, end)
        part.gap_ns += gap_ns
        self.mark_ns += gap_ns

    def enter_backward(self) -> bool:
        """A backward begins; False inside another one."""
        self._backward_depth += 1
        return self._backward_depth == 1

    def backward_begins(self, part: Part, now_ns: int) -> None:
        """The outermost backward begins, and with it the forward ends."""
        self._closure = self._closure or self._optimizer_depth > 0
        self.goes_on(part, now_ns, "backward")
        if self.mark_ns is not None:
            part.forward_ns += now_ns - self.mark_ns
        self._begin_ns = now_ns

    def leave_backward(self) -> bool:
        """A backward ends; False inside another one, or where none has begun."""
        if not self._backward_depth:
            return False
        self._backward_depth -= 1
        return not self._backward_depth

    def backward_ends(self, part: Part, now_ns: int) -> None:
        """The outermost backward has ended; an optimizer round it goes on."""
        part.backward_ns += now_ns - self._begin_ns
        part.phases_seen = True
        self._begin_ns = self.mark_ns = now_ns

    def enter_optimizer(self) -> None:
        """An optimizer begins inside another one."""
        self._optimizer_depth += 1

    def pause_backward(self, part: Part, now_ns: int) -> None:
        """An optimizer begins; if inside a backward, that one rests."""
        if self._backward_depth:
            part.backward_ns += now_ns - self._begin_ns

    def optimizer_begins(self, now_ns: int, key: int) -> None:
        """The outermost optimizer begins to step."""
        self._optimizer_depth = 1
        self.optimizer_key = key
        self._closure = False
        self._begin_ns = self._optimizer_began_ns = now_ns

    def leave_optimizer(self) -> bool:
        """An optimizer has stepped; False inside another one, or where none has begun."""
        if not self._optimizer_depth:
            return False
        self._optimizer_depth -= 1
        return not self._optimizer_depth

    def optimizer_ends(self, part: Part, now_ns: int) -> None:
        """The outermost optimizer has stepped; a backward round it goes on."""
        part.optimizer_ns += now_ns - self._begin_ns
        self._begin_ns = self.mark_ns = now_ns

    def last_step_raised(self, key: int) -> int | None:
        """Tell a step inside a step from one that never ended as it raised: return when that one began."""
        raised = self._optimizer_depth and key == self.optimizer_key and self._closure
        return self._optimizer_began_ns if raised else None

    def give_up_optimizer(self) -> bool:
        """The next batch is fetched: if an optimizer still steps it has raised; return whether it does."""
        raised = self._optimizer_depth > 0
        self._optimizer_depth = 0
        return raised
