"""How often the gradients of a step are summed over the ranks: accumulation with and without `no_sync`.

Counted in the steps that are sampled alone, from an attribute that DistributedDataParallel keeps in each
forward: whether the backward that follows will synchronise.
"""

from collections.abc import Sequence

import torch

from perftui.trainer.probe.border import Foreign

_graph_task: Foreign = getattr(torch._C, "_current_graph_task_id", None)  # private


def in_backward() -> bool:
    """Return whether this thread is inside a backward; False where torch does not tell."""
    return _graph_task is not None and _graph_task() != -1


class GradientSyncs:
    """Sums over whole sampled steps.

    Attributes:
        steps: how many.
        backwards: that they had.
        syncs: how many of these summed gradients over the ranks.
    """

    def __init__(self) -> None:
        self.steps = self.backwards = self.syncs = 0
        self._open_backwards = self._open_syncs = 0

    def backward(self, modules: Sequence[Foreign]) -> None:
        """A backward begins in a sampled step; one inside another (recomputation) is none."""
        if in_backward():
            return
        self._open_backwards += 1
        self._open_syncs += any(_synchronises(module) for module in modules)

    def step_ends(self) -> None:
        """The sampled step is over."""
        if self._open_backwards:
            self.steps += 1
            self.backwards += self._open_backwards
            self.syncs += self._open_syncs
        self.leave_out()

    def leave_out(self) -> None:
        """It was no step."""
        self._open_backwards = self._open_syncs = 0


def _synchronises(module: Foreign) -> bool:
    kept = vars(module)
    return bool(kept.get("require_forward_param_sync", kept.get("require_backward_grad_sync", True)))
