"""`compile.*`: torch.compile of a module in place, as `Module.compile` does it.

In place, so that the state keeps its keys, and so that under DistributedDataParallel the module within is
compiled: torch then cuts its graph at the buckets of gradients.
"""

import sys
from collections.abc import Callable, Mapping

import torch
from torch import nn

from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.altering.altered_call import SEAM, is_traced_or_transformed, unless
from perftui.trainer.probe.altering.optimised_modules import Optimised, compiled_by_script, sharded_by
from perftui.trainer.probe.border import Foreign


def compile_options(asked: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
    """Return the arguments of torch.compile that settings ask for."""
    return {
        argument: asked[name]
        for argument in ("mode", "dynamic", "backend", "fullgraph")
        if (name := f"compile.{argument}") in asked
    }


def why_not_compiled(
    module: Optimised, options: Mapping[str, SettingValue], *, differentiated_again: bool
) -> str | None:
    """Return why a module is left as it is; None when it can be compiled.

    Args:
        module: about to be compiled.
        options: of torch.compile.
        differentiated_again: the script differentiates gradients.
    """
    if differentiated_again and options.get("backend") != "eager":
        return "the script differentiates gradients again (create_graph): what is compiled does not allow it"
    if compiled_by_script(module.called):
        return "the script compiles its model itself: it is left as it is"
    if isinstance(module.inner, torch.jit.ScriptModule):
        return "the model is in TorchScript"
    if isinstance(module.inner, nn.DataParallel):
        return "DataParallel copies the model to each GPU in each step: nothing compiled would last"
    if sharded_by(module.called) == "FSDP 1":
        return "FSDP 1 replaces the parameters: compile its parts in the script, before they are wrapped"
    return None


def compile_in_place(module: nn.Module, options: Mapping[str, SettingValue]) -> None:
    """Compile a module in place; what torch compiles comes at its next call.

    Of a module that `fully_shard` has sharded, the innermost units' forwards are compiled: torch compiles
    nothing where its own hooks run, which gather the parameters round each unit.
    """
    arguments: dict[str, Foreign] = dict(options)
    units = _innermost_units(module)
    for unit in units:
        forward = unit.forward
        compiled = torch.compile(_framed(unit, forward), **arguments)
        unit.__dict__["forward"] = unless(is_traced_or_transformed, compiled, forward)
    if not units:
        foreign: Foreign = module
        own = foreign._call_impl
        compiled = torch.compile(_framed(module, own), **arguments)
        module.__dict__[SEAM] = unless(is_traced_or_transformed, compiled, own)


def _framed(module: nn.Module, call: Callable[..., Foreign]) -> Callable[..., Foreign]:
    """Return the call within a frame of its own code.

    Before torch 2.6 what begins in torch's own files is not compiled, as `nn.Sequential` does; and the limit
    of recompilations is counted for each code, which modules would share.
    """

    def framed(*args: Foreign, **kwargs: Foreign) -> Foreign:
        return call(*args, **kwargs)

    framed.__code__ = framed.__code__.replace(co_name=type(module).__name__)
    return framed


def take_back(module: nn.Module) -> None:
    """Let a module run as it is written."""
    module.__dict__.pop(SEAM, None)
    for unit in _innermost_units(module):
        unit.__dict__.pop("forward", None)


def _innermost_units(module: nn.Module) -> list[nn.Module]:
    units = [part for part in module.modules() if _is_unit(part)]
    return [unit for unit in units if not any(_is_unit(part) for part in unit.modules() if part is not unit)]


def _is_unit(module: nn.Module) -> bool:
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


def dynamo_error() -> type[Exception]:
    """Return the class of everything that torch.compile itself raises."""
    from torch._dynamo.exc import TorchDynamoException

    return TorchDynamoException


def graphs_compiled() -> int | None:
    """Return how many graphs were handed to a backend; None where that cannot be read."""
    module: Foreign = sys.modules.get("torch._dynamo.utils")
    counters: Foreign = getattr(module, "counters", None)
    return None if counters is None else int(counters["stats"]["unique_graphs"])
