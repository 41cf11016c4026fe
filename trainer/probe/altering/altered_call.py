"""The call of one module, altered: compiled, under autocast, with other inputs; undone where it fails.

`_compiled_call_impl` of the instance, which `nn.Module.__call__` looks at first, is the seam that
`Module.compile` uses too: no hook, no other key in the state, left out when a module is copied or pickled.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import nn
from torch.fx import _symbolic_trace

from perftui.trainer.probe.altering.book import TORCH_ERRORS
from perftui.trainer.probe.border import Foreign

SEAM = "_compiled_call_impl"
Call: TypeAlias = Callable[..., Foreign]
Around: TypeAlias = Callable[[Call, tuple[Foreign, ...], dict[str, Foreign]], Foreign]
"""Takes the call that it stands round, and the arguments."""
_jit: Foreign = torch.jit
_is_tracing: Callable[[], bool] = _jit.is_tracing
_transforms: Callable[[], Foreign] = torch._C._functorch.peek_interpreter_stack  # private
_compiler: Foreign = torch.compiler
_fx: Foreign = _symbolic_trace
# the newer, where it is, warns of nothing; it leaves torch.export to the other question, new in torch 2.7
_is_fx_tracing: Callable[[], bool] = getattr(_fx, "is_fx_symbolic_tracing", None) or _fx.is_fx_tracing
_is_exporting: Callable[[], bool] = getattr(_compiler, "is_exporting", _is_fx_tracing)


def is_traced() -> bool:
    """Tell whether a graph is being made of what is called: by torch.jit.trace, torch.fx, torch.export.

    What is traced is the module as it is written: torch compiles nothing meanwhile, and an autocast would
    stay in what is exported.
    """
    return _is_tracing() or _is_fx_tracing() or _is_exporting()


def is_traced_or_transformed() -> bool:
    """Tell whether torch compiles nothing just now: within vmap and the others of torch.func as well."""
    return is_traced() or _transforms() is not None


def unless(within: Callable[[], bool], call: Call, as_written: Call) -> Call:
    """Return what calls the one, and the other where `within` says so."""

    def either(*args: Foreign, **kwargs: Foreign) -> Foreign:
        return as_written(*args, **kwargs) if within() else call(*args, **kwargs)

    return either


def alter_call(
    module: nn.Module,
    around: Around,
    proven: Callable[[], None],
    undo: Callable[[str], None],
    always: type[Exception] | None = None,
) -> None:
    """Put `around` round the call of a module.

    Args:
        module: as the script calls it.
        around: what is done.
        proven: told once, after the first call with gradients that went well.
        undo: told what went wrong; takes back what belongs to the alteration beside this seam.
        always: errors that are not the script's, however late they come.
    """
    foreign: Foreign = module
    own: Call = foreign.__dict__.get(SEAM) or foreign._call_impl
    known_well = False

    def call(*args: Foreign, **kwargs: Foreign) -> Foreign:
        nonlocal known_well
        try:
            result = around(own, args, kwargs)
        except TORCH_ERRORS as error:
            if (known_well and (always is None or not isinstance(error, always))) or isinstance(
                error, torch.cuda.OutOfMemoryError
            ):
                raise
            module.__dict__.pop(SEAM, None)
            undo(f"the forward fails with it: {type(error).__name__}: {error}")
            return foreign._call_impl(*args, **kwargs)  # raises the script's own error, if it is one
        if not known_well and torch.is_grad_enabled():
            known_well = True
            proven()
        return result

    module.__dict__[SEAM] = unless(is_traced, call, foreign._call_impl)
