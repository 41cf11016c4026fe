"""Which code of the script's makes samples and batches, as `file:line name`: told from code objects alone.

Known before any look at a worker. Empty where that code is installed, or is none of Python's.
"""

from functools import partial
from types import FunctionType, MethodType

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_words import place
from perftui.trainer.probe.own_places import is_own, unwrapped
from perftui.trainer.probe.reached_code import members

_SERVING = ("__getitems__", "__getitem__", "__next__", "__iter__")
_HOLDS = ("dataset", "datasets", "datapipe")
"""Attributes of datasets that hold others: one, or several of which the first stands for all."""
_HOLDERS = "torch.utils.data"
_DEPTH = 8


def serves_at(dataset: Foreign) -> str:
    """Return the method of a dataset, or of the one that installed ones hold, that is asked for samples."""
    for _ in range(_DEPTH):
        at = _method_at(type(dataset), _SERVING)
        if at:
            return at
        held: dict[str, Foreign] = getattr(dataset, "__dict__", {})
        inner = next((held[name] for name in _HOLDS if name in held), None)
        dataset = inner[0] if type(inner) in (list, tuple) and inner else inner
    return ""


def called_at(function: Foreign) -> str:
    """Return a function, or the method by which anything else is called."""
    kind: type[Foreign] = type(function)
    if kind is partial:
        return called_at(function.func)
    inner = unwrapped(function)
    if type(inner) is MethodType:
        inner = unwrapped(inner.__func__)
    if type(inner) is FunctionType:
        return _at(inner, inner.__qualname__)
    return _method_at(kind, ("__call__",))


def _method_at(kind: type, names: tuple[str, ...]) -> str:
    owners = [each for each in kind.__mro__ if not each.__module__.startswith(_HOLDERS)]
    for name in names:
        found = ((owner, each) for owner in owners for _, each in members([owner], (name,)))
        owner, method = next(found, (kind, None))
        at = _at(method, f"{owner.__name__}.{name}")
        if at:
            return at
    return ""


def _at(function: Foreign, name: str) -> str:
    function = unwrapped(function)
    if type(function) is not FunctionType or not is_own(function.__code__.co_filename):
        return ""
    code = function.__code__
    return f"{place(code.co_filename, code.co_firstlineno)} {name}"
