"""Knows the optimizers, gradient scalers and parallel wrappers of this process, by weak references.

Their constructors are wrapped once, when torch has been imported: finding them later would mean to walk all
objects there are. Nothing here runs during a step.
"""

import functools
import weakref
from collections import deque
from collections.abc import Callable
from types import ModuleType

import torch

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Border, Foreign

KEPT = 32
"""Objects of one kind that are remembered."""
UNITS_KEPT = 4096
"""The same for the parts of a sharded model, which are many."""


class Living:
    """The newest objects of one kind, oldest first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._references: deque[weakref.ref[Foreign]] = deque(maxlen=kept)

    def note(self, thing: Foreign) -> None:
        """Remember an object without keeping it alive."""
        self._references.append(weakref.ref(thing))

    def all(self) -> list[Foreign]:
        """Return those that are still alive."""
        alive = (reference() for reference in self._references.copy())
        return [thing for thing in alive if thing is not None]


class LiveObjects:
    """Everything that was constructed since torch's import."""

    def __init__(self) -> None:
        self.optimizers = Living()
        self.scalers = Living()
        self.ddp = Living()
        self.data_parallel = Living()
        self.fsdp1 = Living(UNITS_KEPT)


live_objects = LiveObjects()
"""Those of this process; a forked child has those of its parent too."""


def install(border: Border) -> None:
    """Wrap the constructors; one that is not as expected leaves the others."""

    def parallel(module: ModuleType) -> None:
        _wrap(border, vars(module)["DistributedDataParallel"], live_objects.ddp)

    def sharded(module: ModuleType) -> None:
        _wrap(border, vars(module)["FullyShardedDataParallel"], live_objects.fsdp1)

    def all_now() -> None:
        _wrap(border, torch.optim.Optimizer, live_objects.optimizers)
        _wrap(border, torch.amp.GradScaler, live_objects.scalers)
        _wrap(border, torch.nn.DataParallel, live_objects.data_parallel)

    border.guard("install constructors", all_now)()
    after_import(
        {
            "torch.nn.parallel.distributed": border.guard("install ddp", parallel),
            "torch.distributed.fsdp.fully_sharded_data_parallel": border.guard("install fsdp", sharded),
        }
    )


def _wrap(border: Border, kind: Foreign, living: Living) -> None:
    original: Callable[..., None] = kind.__init__
    note = border.guard("constructor", living.note)

    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        original(self, *args, **kwargs)
        note(self)

    kind.__init__ = build
