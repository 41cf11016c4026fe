"""What stands for a method of one object: a method again, with the same name and signature."""

import functools
from collections.abc import Callable
from types import MethodType

from perftui.trainer.probe.border import Foreign


def method_for(owner: object, original: Foreign, function: Callable[..., Foreign]) -> MethodType:
    """Return `function` as a method of `owner` in the place of `original`.

    Schedulers ask a method for its function, and GradScaler asks for its signature: wrapped round a bound
    method it would lack an argument, and round two of them be none at all, which inspect raises an error for.

    Args:
        owner: of the method.
        original: the method that it stands for, bound.
        function: takes the owner first.
    """
    unbound = getattr(original, "__func__", None)
    return MethodType(function if unbound is None else functools.wraps(unbound)(function), owner)
