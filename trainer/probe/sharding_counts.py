"""How often `fully_shard` gathers parameters and scatters gradients: two private functions, counted.

Apart because it is the only place where they are touched; where torch has others nothing is counted. What it
costs is one call more for each collective, which itself takes hundreds of microseconds.
"""

import functools
import os
from collections.abc import Callable
from types import ModuleType

import torch

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.gradient_syncs import in_backward

_MODULES = (
    "torch.distributed.fsdp._fully_shard._fsdp_param_group",
    "torch.distributed._composable.fsdp._fsdp_param_group",  # before torch 2.6
)
_is_compiling = torch.compiler.is_compiling


class ShardingCounts:
    """Totals of this process.

    Attributes:
        installed: the functions were found.
        all_gathers: of parameters, for training; those of validations are left out.
        reduce_scatters: of gradients.
    """

    def __init__(self) -> None:
        self.installed = False
        self.forget()

    def forget(self) -> None:
        """Start from nothing: in a forked child."""
        self.all_gathers = self.reduce_scatters = 0

    def install(self, border: Border) -> None:
        """Count from the import of what does it on."""
        after_import({name: border.guard("install fully_shard", self.patch) for name in _MODULES})

    def patch(self, module: ModuleType) -> None:
        """Stand in for the two functions of a module, if it has both."""
        gather, reduce = vars(module).get("foreach_all_gather"), vars(module).get("foreach_reduce")
        if gather is not None and reduce is not None and not self.installed:
            self.installed = True
            vars(module)["foreach_all_gather"] = self._gathering(gather)
            vars(module)["foreach_reduce"] = self._reducing(reduce)

    def _gathering(self, original: Callable[..., Foreign]) -> Callable[..., Foreign]:
        @functools.wraps(original)
        def gather(*args: Foreign, **kwargs: Foreign) -> Foreign:
            if not _is_compiling() and (torch.is_grad_enabled() or in_backward()):
                self.all_gathers += 1
            return original(*args, **kwargs)

        return gather

    def _reducing(self, original: Callable[..., Foreign]) -> Callable[..., Foreign]:
        @functools.wraps(original)
        def reduce(*args: Foreign, **kwargs: Foreign) -> Foreign:
            if not _is_compiling():
                self.reduce_scatters += 1
            return original(*args, **kwargs)

        return reduce


sharding_counts = ShardingCounts()
"""Those of this process."""
os.register_at_fork(after_in_child=sharding_counts.forget)
