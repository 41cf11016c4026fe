"""Finds the modules that settings mean: called by the script, with parameters that are optimised.

Reads only, apart from what then alters them.
"""

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from perftui.trainer.probe.altering.altered_call import SEAM
from perftui.trainer.probe.altering.called_modules import CalledModule
from perftui.trainer.probe.border import Foreign

_MOST = 0.5
"""Less than this share of the trained numbers in modules that are called: the script goes other ways."""


@dataclass(frozen=True)
class Optimised:
    """One module to alter."""

    called: nn.Module
    """What the script calls: a wrapper, where there is one."""
    inner: nn.Module
    """The same without DistributedDataParallel."""
    autocast: torch.dtype | None
    """The script's own autocast round it, or within."""
    functions: frozenset[type] = frozenset()
    """With a backward of the script's own, and not written for autocast."""

    @property
    def wrapped(self) -> bool:
        """Whether DistributedDataParallel stands round it."""
        return self.called is not self.inner


@dataclass(frozen=True)
class Search:
    """What was found, or why nothing."""

    modules: list[Optimised]
    reason: str | None = None


def optimised_modules(optimizer: torch.optim.Optimizer, called: Sequence[CalledModule]) -> Search:
    """Search among the called modules for those of an optimizer that is about to step.

    Args:
        optimizer: its gradients are there.
        called: by the thread that trains.
    """
    trained = _trained(optimizer)
    found: list[tuple[Optimised, int]] = []
    parts: list[tuple[nn.Module, int]] = []
    for known, module in _outermost(called):
        held = sum(trained.get(id(parameter), 0) for parameter in module.parameters())
        if not held:
            continue
        inner = _without_wrapper(module)
        if next(inner.children(), None) is None:
            parts.append((inner, held))
        found.append((Optimised(module, inner, known.autocast, frozenset(known.functions)), held))
    total = sum(trained.values())
    whole = sum(held for _, held in found) - sum(held for _, held in parts)
    if whole >= _MOST * total and total:
        leaves = {id(part) for part, _ in parts}
        return Search([each for each, _ in found if id(each.inner) not in leaves])
    return _of_leaves(found, parts, total)


def _outermost(called: Sequence[CalledModule]) -> list[tuple[CalledModule, nn.Module]]:
    """Return those that are no part of another one: a script may call `model.encoder` before `model`."""
    alive = [(known, module) for known in called if (module := known.reference()) is not None]
    parts = {id(part) for _, module in alive for part in module.modules() if part is not module}
    return [(known, module) for known, module in alive if id(module) not in parts]


def _of_leaves(found: list[tuple[Optimised, int]], parts: list[tuple[nn.Module, int]], total: int) -> Search:
    """Judge where layers are called by themselves: a model of one layer, or parts of a model that is not."""
    owner = _owner_of([part for part, _ in parts]) if parts else None
    if owner is not None:
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part, _ in parts))
        return Search(
            [], f"the script calls parts of {owner} ({kinds}), or other methods of it, and not {owner} itself"
        )
    held = sum(numbers for _, numbers in found)
    if not total or held < _MOST * total:
        return Search([], "no module with the parameters that are optimised is called in a step")
    return Search([each for each, _ in found])


def _trained(optimizer: torch.optim.Optimizer) -> dict[int, int]:
    parameters: list[torch.Tensor] = [
        parameter for group in optimizer.param_groups for parameter in group["params"]
    ]
    with_gradient = [parameter for parameter in parameters if parameter.grad is not None]
    return {id(parameter): parameter.numel() for parameter in with_gradient or parameters}


def _without_wrapper(module: nn.Module) -> nn.Module:
    kind: Foreign = getattr(nn.parallel, "DistributedDataParallel", None)
    return module.module if kind is not None and isinstance(module, kind) else module


def _owner_of(parts: list[nn.Module]) -> str | None:
    """Return the class of the module that the parts belong to; None where they stand alone.

    One walk over all objects, in the rare case that layers are called by themselves.
    """
    parents: dict[int, list[nn.Module]] = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), nn.Module):
            for child in list(thing.__dict__.get("_modules", {}).values()):
                if child is not None:
                    parents.setdefault(id(child), []).append(thing)
    owner: nn.Module | None = None
    for part in parts:
        seen = {id(part)}
        above = parents.get(id(part), [])
        while above and id(above[0]) not in seen:
            owner = above[0]
            seen.add(id(owner))
            above = parents.get(id(owner), [])
    return None if owner is None else type(owner).__name__


def compiled_by_script(module: nn.Module) -> bool:
    """Tell whether the script compiles a module, a part of it, or what it stands in."""
    module_of: Foreign = sys.modules.get("torch._dynamo.eval_frame")
    kinds: Foreign = getattr(module_of, "OptimizedModule", None)
    if any(part.__dict__.get(SEAM) is not None for part in module.modules()):
        return True
    return kinds is not None and any(isinstance(part, kinds) for part in module.modules())


def sharded_by(module: nn.Module) -> str | None:
    """Return what has sharded a module's parameters: `FSDP 1`, `FSDP 2`, or None."""
    names = {kind.__name__ for part in module.modules() for kind in type(part).__mro__}
    if "FullyShardedDataParallel" in names:
        return "FSDP 1"
    return "FSDP 2" if "FSDPModule" in names else None
