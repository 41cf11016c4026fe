"""Whether a script differentiates its gradients again, as penalties on gradients do: seen in the first steps.

What torch.compile makes of a forward has a backward that cannot be differentiated (but for the backend
`eager`): torch raises in the backward, when nothing can be taken back any more.
"""

import functools
import inspect
from collections.abc import Callable

import torch

from perftui.trainer.probe.border import Foreign


class SecondDerivatives:
    """Watches the calls of `torch.autograd.grad` that keep the graph of what they return."""

    def __init__(self) -> None:
        self.seen = False
        self._original: Callable[..., Foreign] | None = None

    def install(self) -> None:
        """Begin to watch."""
        module: Foreign = torch.autograd
        original: Callable[..., Foreign] = module.grad
        place = list(inspect.signature(original).parameters).index("create_graph")
        self._original = original

        @functools.wraps(original)
        def grad(*args: Foreign, **kwargs: Foreign) -> Foreign:
            if kwargs.get("create_graph") or (len(args) > place and args[place]):
                self.seen = True
            return original(*args, **kwargs)

        module.grad = grad

    def remove(self) -> None:
        """End it."""
        if self._original is not None:
            module: Foreign = torch.autograd
            module.grad = self._original
            self._original = None


def have_graphs(optimizer: torch.optim.Optimizer) -> bool:
    """Tell whether the gradients about to be used can be differentiated: `backward(create_graph=True)`."""
    gradients = [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]
    return any(gradient is not None and gradient.requires_grad for gradient in gradients)
