"""Which code of the script's makes samples and batches, as `file:line name`: told from code objects alone.

Known before any look at a worker. Empty where that code is installed, or is none of Python's.
"""

from functools import partial
from types import FunctionType, MethodType

from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_words import place
from perftui.trainer.probe.reached_code import members
from perftui.trainer.probe.source_lines import is_installed

_SERVING = ("__getitems__", "__getitem__", "__next__", "__iter__")
_HOLDS = ("dataset", "datasets", "datapipe")
"""Attributes of torch's own datasets that hold others: one, or several of which the first stands for all."""
_HOLDERS = "torch.utils.data"
_DEPTH = 8


def serves_at(dataset: Foreign) -> str:
    """Return the method of a dataset, or of the one that torch's own ones hold, that is asked for samples."""
    for _ in range(_DEPTH):
        kind: type[Foreign] = type(dataset)
        if not kind.__module__.startswith(_HOLDERS):
            return _method_at(kind, _SERVING)
        held: dict[str, Foreign] = getattr(dataset, "__dict__", {})
        inner = next((held[name] for name in _HOLDS if name in held), None)
        dataset = inner[0] if type(inner) in (list, tuple) and inner else inner
    return ""


def called_at(function: Foreign) -> str:
    """Return a function, or the method by which anything else is called."""
    kind: type[Foreign] = type(function)
    if kind is partial:
        return called_at(function.func)
    if kind is MethodType:
        return called_at(function.__func__)
    return _at(function, function.__qualname__) if kind is FunctionType else _method_at(kind, ("__call__",))


def _method_at(kind: type, names: tuple[str, ...]) -> str:
    for name in names:
        for owner in (each for each in kind.__mro__ if not each.__module__.startswith(_HOLDERS)):
            for _, found in members([owner], (name,)):
                return _at(found, f"{owner.__name__}.{name}") if type(found) is FunctionType else ""
    return ""


def _at(function: FunctionType, name: str) -> str:
    code = function.__code__
    if is_installed(code.co_filename) or is_ours(code.co_filename):
        return ""
    return f"{place(code.co_filename, code.co_firstlineno)} {name}"
