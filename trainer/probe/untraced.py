"""Our functions kept out of what torch.compile compiles: they read clocks and leave stamps.

Without it dynamo would compile the hooks themselves wherever a compiled function comes to them: cuts in its
graphs, guards that fail, a warning about the clock, and no stamp, as the hooks take themselves for a part of
the graph. What of torch a hook stands before, dynamo does not trace either.
"""

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Final, TypeVar

from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Border, Foreign

_MODULE: Final = "torch._dynamo.eval_frame"
_PACKAGE: Final = "perftui.trainer."
_Hook = TypeVar("_Hook", bound=Callable[..., object])


def untraced(hook: _Hook) -> _Hook:
    """Have a call from a compiled function cut the graph there, and not within the hook.

    As `torch.compiler.disable` marks a function, but for the wrapper that it puts round it: what is called
    from the hook is compiled as ever.
    """
    marked: Foreign = hook
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = "a hook of perftui, round what torch does not trace either"
    return hook


def leave_untraced(border: Border) -> None:
    """Have dynamo pass over our frames once it is imported; never import it ourselves."""
    after_import({_MODULE: border.guard("install untraced", _skip_ours)})


def _skip_ours(module: ModuleType) -> None:
    skip: Foreign = vars(module).get("skip_code")  # private; where it is gone, frames of ours are compiled
    if skip is None:
        return
    for code in {code for each in _modules() for code in _codes_of(vars(each))}:
        skip(code)


def _modules() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.startswith(_PACKAGE)]


def _codes_of(names: Foreign) -> Iterator[CodeType]:
    """Return the code of functions and methods, and of all that they define within."""
    for thing in list(names.values()):
        inner = _function_of(thing)
        if isinstance(inner, FunctionType):
            yield from _with_inner(inner.__code__)
        elif isinstance(inner, type) and inner.__module__.startswith(_PACKAGE):
            yield from _codes_of(vars(inner))


def _function_of(thing: Foreign) -> Foreign:
    if isinstance(thing, property):
        return thing.fget
    return thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    if is_ours(code.co_filename):
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _with_inner(constant)
