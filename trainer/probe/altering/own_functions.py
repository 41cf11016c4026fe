"""`precision.autocast` and functions with a backward of the script's own (`torch.autograd.Function`).

Autocast ends with the forward. A function that is not written for it (`torch.amp.custom_fwd`) then has saved
an activation in lower precision beside a weight in float32, and its backward fails on the two, when nothing
can be taken back any more. So such a function computes as the script has it: without autocast, in float32.
"""

import dataclasses
import functools
from collections.abc import Callable

import torch
from torch.utils import _pytree as pytree

from perftui.trainer.probe.altering.called_modules import autocast_dtype, in_backward, ours
from perftui.trainer.probe.border import Foreign

_NODES_SEEN = 50_000
_WRITTEN_FOR_IT = "decorate_fwd"
"""What `torch.amp.custom_fwd` makes of a forward is called so."""
_PROTECTED = "_perftui_protected"
_HALVES = (torch.float16, torch.bfloat16)


def functions_behind(result: Foreign) -> set[type]:
    """Return the functions of the script in the graph of a result that are not written for autocast."""
    if dataclasses.is_dataclass(result) and not isinstance(result, (dict, type)):
        result = [getattr(result, field.name) for field in dataclasses.fields(result)]
    leaves = [each for each in pytree.tree_leaves(result) if isinstance(each, torch.Tensor)]
    waiting: list[Foreign] = [each.grad_fn for each in leaves if each.grad_fn is not None]
    seen = set(waiting)
    found: set[type] = set()
    while waiting and len(seen) < _NODES_SEEN:
        node = waiting.pop()
        node_kind: Foreign = type(node)
        kind: type | None = getattr(node_kind, "_forward_cls", None)
        if kind is not None and kind not in found and _is_unprepared(kind) and not _has_seen_halves(node):
            found.add(kind)
        following = {after for after, _ in node.next_functions if after is not None} - seen
        seen |= following
        waiting += following
    return found


def _is_unprepared(kind: Foreign) -> bool:
    if kind.__module__.split(".")[0] == "torch":
        return False
    forward: Foreign = kind.forward
    while forward is not None:
        if getattr(getattr(forward, "__code__", None), "co_name", None) == _WRITTEN_FOR_IT:
            return False
        forward = getattr(forward, "__wrapped__", None)
    return True


def _has_seen_halves(node: Foreign) -> bool:
    """Tell whether the script itself hands a function lower precision: kernels that take nothing else."""
    try:
        saved: tuple[Foreign, ...] = node.saved_tensors
    except RuntimeError:  # freed already
        return False
    return any(isinstance(each, torch.Tensor) and each.dtype in _HALVES for each in saved)


def protect(kind: Foreign, device_type: str, dtype: torch.dtype) -> None:
    """Have a function compute as the script has it wherever our autocast is in force.

    Args:
        kind: the function.
        device_type: whose autocast.
        dtype: what it casts to.
    """
    if getattr(kind.forward, _PROTECTED, False):
        return

    def widened(value: Foreign) -> Foreign:
        return value.float() if isinstance(value, torch.Tensor) and value.dtype is dtype else value

    def is_ours() -> bool:
        # in the backward: a checkpoint that is computed again, under the autocast that torch has kept for it
        return (ours.on or in_backward()) and autocast_dtype(device_type) is dtype

    def all_widened(values: Foreign) -> Foreign:
        return tuple(widened(value) for value in values)

    def of_context(arguments: Foreign) -> Foreign:
        context, inputs, output = arguments
        return context, all_widened(inputs), output

    def stand_in(original: Callable[..., Foreign], widen: Callable[[Foreign], Foreign]) -> Foreign:
        @functools.wraps(original)
        def as_written(*args: Foreign) -> Foreign:
            if not is_ours():
                return original(*args)
            with torch.autocast(device_type, enabled=False):
                return original(*widen(args))

        setattr(as_written, _PROTECTED, True)
        return staticmethod(as_written)

    own_context: Foreign = kind.setup_context
    kind.forward = stand_in(kind.forward, all_widened)
    if own_context is not torch.autograd.Function.setup_context:
        kind.setup_context = stand_in(own_context, of_context)
