"""Which modules the script itself calls, in the first steps: the outermost call counts, not what it calls.

A patch of `nn.Module.__call__` for as long as it is needed; nothing stays of it afterwards.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from perftui.trainer.probe.border import Foreign

_LOOKS = 2
"""Calls of a module whose graph is gone through: the micro-batches of a step are alike."""
_is_compiling = torch.compiler.is_compiling


class _Ours(threading.local):
    on = False


ours = _Ours()
"""Whether the autocast in force in this thread is ours, and not the script's."""


@contextmanager
def under_ours() -> Iterator[None]:
    """An autocast of ours begins."""
    before, ours.on = ours.on, True
    try:
        yield
    finally:
        ours.on = before


@dataclass
class CalledModule:
    """One module that the script calls."""

    reference: "weakref.ref[nn.Module]"
    thread: int
    with_grad: bool = False
    """Called at least once with gradients."""
    around: torch.dtype | None = None
    """The script's autocast round the newest call with gradients."""
    within: dict[int, tuple[torch.dtype | None, int]] = field(
        default_factory=dict[int, tuple[torch.dtype | None, int]]
    )
    """What each part with parameters of its own ran under, and how many numbers it trains."""

    functions: set[type] = field(default_factory=set[type])
    """Functions of the script with a backward of their own that are not written for autocast."""

    looks: int = 0
    """How often its graph was gone through."""

    @property
    def autocast(self) -> torch.dtype | None:
        """The script's own autocast: where it stands within the forward, that of most trained numbers.

        `torch.autocast` as a decorator of `forward`, or a library that replaces `forward`, begins within the
        call.
        """
        numbers: dict[torch.dtype | None, int] = {}
        for dtype, held in self.within.values():
            numbers[dtype] = numbers.get(dtype, 0) + held
        most = max(numbers, key=lambda dtype: numbers[dtype], default=None)
        return self.around if most is None else most

    def note_within(self, part: nn.Module) -> None:
        """A part of it is about to compute, or has begun an autocast of its own."""
        held = trained_numbers(part)
        if held and self.with_grad and not ours.on:
            self.within[id(part)] = (autocast_dtype(device_type_of(part)), held)


class _Inside(threading.local):
    on = False
    known: CalledModule | None = None
    """What the script has called, which calls the others."""
    innermost: nn.Module | None = None


@dataclass
class CalledModules:
    """All of them, in the order of their first call."""

    functions_behind: Callable[[Foreign], set[type] | None] | None = None
    """Looks at the graph of what was called, where that is of interest."""
    called: dict[int, CalledModule] = field(default_factory=dict[int, CalledModule])
    _original: Foreign = None
    _original_enter: Foreign = None
    _inside: _Inside = field(default_factory=_Inside)

    def install(self) -> None:
        """Begin to watch."""
        kind: Foreign = nn.Module
        original = self._original = kind.__call__
        inside = self._inside

        @functools.wraps(original)
        def call(module: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
            if _is_compiling():
                return original(module, *args, **kwargs)
            above = inside.on, inside.known, inside.innermost
            try:
                self._note(module)
                result = original(module, *args, **kwargs)
                if not above[0] and inside.known is not None:
                    self._look_behind(inside.known, result)
                return result
            finally:
                inside.on, inside.known, inside.innermost = above

        kind.__call__ = call
        self._watch_autocast()

    def _watch_autocast(self) -> None:
        kind: Foreign = torch.autocast
        original = self._original_enter = kind.__enter__
        inside = self._inside

        @functools.wraps(original)
        def enter(context: Foreign) -> Foreign:
            result = original(context)
            if inside.known is not None and inside.innermost is not None:
                inside.known.note_within(inside.innermost)
            return result

        kind.__enter__ = enter

    def remove(self) -> None:
        """End it."""
        if self._original is not None:
            kind: Foreign = nn.Module
            kind.__call__ = self._original
            autocast: Foreign = torch.autocast
            autocast.__enter__ = self._original_enter
            self._original = self._original_enter = None
        self.called.clear()

    def _note(self, module: nn.Module) -> None:
        """Note a call as it begins, in the thread that makes it."""
        inside = self._inside
        inside.innermost = module
        if not inside.on:
            inside.on = True
            inside.known = self._note_outermost(module)
        if inside.known is not None:
            inside.known.note_within(module)

    def _look_behind(self, known: CalledModule, result: Foreign) -> None:
        if self.functions_behind is not None and known.looks < _LOOKS:
            known.looks += 1
            known.functions |= self.functions_behind(result) or set()

    def _note_outermost(self, module: nn.Module) -> CalledModule | None:
        if in_backward():
            return None  # a checkpoint that is computed again
        known = self.called.get(id(module))
        if known is None or known.reference() is None:
            known = CalledModule(weakref.ref(module), threading.get_ident())
            self.called[id(module)] = known
        if not torch.is_grad_enabled():
            return None
        known.with_grad = True
        known.around = autocast_dtype(device_type_of(module))
        return known

    def by_thread(self, thread: int) -> list[CalledModule]:
        """Return those that a thread has called with gradients."""
        return [known for known in self.called.values() if known.thread == thread and known.with_grad]


def in_backward() -> bool:
    """Tell whether this thread runs a backward just now."""
    current: Foreign = getattr(torch._C, "_current_graph_task_id", None)
    return current is not None and current() != -1


def trained_numbers(module: nn.Module) -> int:
    """Return how many numbers a module itself trains, without its parts."""
    own = [parameter for parameter in module._parameters.values() if parameter is not None]
    return sum(each.numel() for each in own if each.requires_grad and not nn.parameter.is_lazy(each))


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
