"""Which modules the script itself calls, in the first steps: the outermost call counts, not what it calls.

A patch of `nn.Module.__call__` for as long as it is needed; nothing stays of it afterwards.
"""

import functools
import threading
import weakref
from dataclasses import dataclass, field

import torch
from torch import nn

from perftui.trainer.probe.border import Foreign

_is_compiling = torch.compiler.is_compiling


@dataclass
class CalledModule:
    """One module that the script calls."""

    reference: "weakref.ref[nn.Module]"
    thread: int
    with_grad: bool = False
    """Called at least once with gradients."""
    autocast: torch.dtype | None = None
    """The script's own autocast at a call with gradients."""


class _Inside(threading.local):
    on = False


@dataclass
class CalledModules:
    """All of them, in the order of their first call."""

    called: dict[int, CalledModule] = field(default_factory=dict[int, CalledModule])
    _original: Foreign = None

    def install(self) -> None:
        """Begin to watch."""
        kind: Foreign = nn.Module
        original = self._original = kind.__call__
        inside = _Inside()

        @functools.wraps(original)
        def call(module: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
            if inside.on or _is_compiling():
                return original(module, *args, **kwargs)
            inside.on = True
            try:
                self._note(module)
                return original(module, *args, **kwargs)
            finally:
                inside.on = False

        kind.__call__ = call

    def remove(self) -> None:
        """End it."""
        if self._original is not None:
            kind: Foreign = nn.Module
            kind.__call__ = self._original
            self._original = None
        self.called.clear()

    def _note(self, module: nn.Module) -> None:
        if in_backward():
            return  # a checkpoint that is computed again
        known = self.called.get(id(module))
        if known is None or known.reference() is None:
            known = CalledModule(weakref.ref(module), threading.get_ident())
            self.called[id(module)] = known
        if torch.is_grad_enabled():
            known.with_grad = True
            known.autocast = autocast_dtype(device_type_of(module))

    def by_thread(self, thread: int) -> list[CalledModule]:
        """Return those that a thread has called with gradients."""
        return [known for known in self.called.values() if known.thread == thread and known.with_grad]


def in_backward() -> bool:
    """Tell whether this thread runs a backward just now."""
    current: Foreign = getattr(torch._C, "_current_graph_task_id", None)
    return current is not None and current() != -1


def device_type_of(module: nn.Module) -> str:
    """Return the type of the device of a module's first parameter; `cpu` where it has none."""
    first = next(module.parameters(), None)
    return "cpu" if first is None else first.device.type


def autocast_dtype(device_type: str) -> torch.dtype | None:
    """Return what autocast casts to in this thread; None where it is off."""
    try:
        on = torch.is_autocast_enabled(device_type)
    except RuntimeError:  # no autocast for such a device
        return None
    return torch.get_autocast_dtype(device_type) if on else None
