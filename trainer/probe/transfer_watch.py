"""Copies from the host to the device, seen by standing in for `Tensor.to`, `cuda` and `copy_` during a step.

Only for the length of a sampled step: code that compares functions (`func is torch.Tensor.to`, as subclasses
of tensors do) must find torch's own. And only for so many steps of a process, as newer Pythons cease to cache
the attributes of a class that has been changed a thousand times.
"""

import functools
from collections.abc import Callable
from threading import get_ident
from time import monotonic

import torch

from perftui.trainer.probe.border import Border, Foreign

_NAMES = ("to", "cuda", "copy_")
_AT_FIRST = 24
_EVERY_S = 30.0
_AT_MOST = 300
_is_compiling = torch.compiler.is_compiling


class TransferWatch:
    """Stands in for torch's functions from `begin` to `end`; both in the training thread.

    Args:
        border: round all that is ours.
        before: called where perhaps a copy begins.
        after: called when it is over, with whether it was one.
    """

    def __init__(self, border: Border, before: Callable[[], object], after: Callable[[bool], object]) -> None:
        self._before = border.guard("copy", before)
        self._after = border.guard("copy end", after)
        self._may_copy = border.guard("copy", _may_copy)
        self._thread = 0
        self._watched = 0
        self._next_s = 0.0
        self._on = 0
        """Number of the watch that goes on; 0: none does."""
        self._stood_in: dict[str, tuple[Foreign, Foreign]] = {}
        """By name: what torch.Tensor itself had, which may be a patch of the script's, and our stand-in."""

    def begin(self, *, always: bool) -> bool:
        """Watch from now on, if it is time to; tell whether it is done.

        Args:
            always: every step is asked for.
        """
        if self._on:
            return True
        now_s = monotonic()
        if not always and (
            self._watched >= _AT_MOST or (self._watched >= _AT_FIRST and now_s < self._next_s)
        ):
            return False
        self._watched += 1
        self._next_s = now_s + _EVERY_S
        self._thread = get_ident()
        self._on = self._watched
        for name in _NAMES:
            stand_in = self._stand_in(getattr(torch.Tensor, name), self._watched)
            self._stood_in[name] = vars(torch.Tensor).get(name), stand_in
            setattr(torch.Tensor, name, stand_in)
        return True

    def end(self) -> None:
        """Give back what was there; what the script has put over ours meanwhile stays."""
        self._on = 0
        for name, (before, stand_in) in self._stood_in.items():
            if vars(torch.Tensor).get(name) is not stand_in:
                continue
            if before is None:
                delattr(torch.Tensor, name)  # torch's own are inherited
            else:
                setattr(torch.Tensor, name, before)
        self._stood_in.clear()

    def _stand_in(self, original: Callable[..., Foreign], number: int) -> Callable[..., Foreign]:
        """Return what acts during the watch of that number alone: a patch put over it may keep it on."""
        before, after = self._before, self._after

        @functools.wraps(original)
        def transfer(self_: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
            if (
                self._on != number
                or get_ident() != self._thread
                or _is_compiling()
                or not self._may_copy(self_, args)
            ):
                return original(self_, *args, **kwargs)
            before()
            copied = False
            try:
                result = original(self_, *args, **kwargs)
                copied = bool(getattr(result, "is_cuda", False))
            finally:
                after(copied)
            return result

        return transfer


def _may_copy(target: Foreign, args: tuple[Foreign, ...]) -> bool:
    if target.is_cpu:
        return True
    source = args[0] if args else None
    return isinstance(source, torch.Tensor) and source.is_cpu and source.dim() > 0
