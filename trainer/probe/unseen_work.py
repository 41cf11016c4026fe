"""Whether anything can have been trained that no hook saw: asked while there are fetches and nothing else.

Apart from the recorder because it is evidence, each piece of its own: a compiled function may hold a whole
step; and whoever takes gradients without a backward (`torch.autograd.grad`, `torch.func.grad`) has autograd
number the nodes of a graph. A pass over the data does neither.
"""

from collections.abc import Callable

import torch

from perftui.trainer.probe.border import Foreign


def _number_of_nodes() -> Callable[[], int] | None:
    autograd: Foreign = torch.autograd
    return getattr(autograd, "_get_sequence_nr", None)  # private, of the calling thread; since torch 2.1


class UnseenWork:
    """Asked in the training thread, as long as that reads its stamps itself.

    Attributes:
        compiled: something was compiled.
    """

    def __init__(self) -> None:
        self.compiled = False
        self._number = _number_of_nodes()
        self._numbered = 0

    def possible(self) -> bool:
        """Tell whether something may have been trained since the last question; at first, since ever."""
        if self.compiled or self._number is None:
            return True
        before, self._numbered = self._numbered, self._number()
        return self._numbered != before
