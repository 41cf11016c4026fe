"""The modules that the training thread calls, by weak references: found on its stack when it is looked at.

The optimizers know what is trained; what is frozen, and buffers, only the model knows. Nothing is wrapped to
find it, and after a few looks the search ends.
"""

from types import FrameType

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.live_objects import Living

_KEPT = 8
_LOOKS = 24
"""Frames that are looked into, at most: that makes a dictionary of their variables."""
CALL = "_call_impl"
"""Function of torch.nn.Module by which each module is called."""


class RootModules:
    """Remembers the outermost modules that were found being called."""

    def __init__(self) -> None:
        self._known = Living(_KEPT)
        self._looks = 0
        self.changed = False
        """One was found since this was last set to False."""

    @property
    def wanted(self) -> bool:
        """Whether another frame is to be looked into."""
        return self._looks < _LOOKS

    def note(self, call: FrameType) -> None:
        """Take the module whose call this frame is."""
        self._looks += 1
        module: Foreign = call.f_locals.get("self")
        if not isinstance(module, torch.nn.Module) or any(module is one for one in self._known.all()):
            return
        self._known.note(module)
        self.changed = True

    def tensors(self) -> list[torch.Tensor]:
        """Return parameters and buffers of all that are alive."""
        return [
            tensor
            for module in self._known.all()
            for tensor in (*list(module.parameters()), *list(module.buffers()))
        ]
