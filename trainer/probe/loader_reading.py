"""What a live DataLoader says of itself, taken when it begins to be iterated: later it may be gone.

A loop over `DataLoader(...)` without a name keeps only the iterator alive.
"""

import multiprocessing
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.border import Foreign

AnyLoader = DataLoader[Any]


def join_name(index: int, argument: str) -> str:
    """Return the setting's name: the first loader goes without a number."""
    return f"loader.{argument}" if index == 0 else f"loader[{index}].{argument}"


def read_loader(index: int, loader: AnyLoader) -> LoaderFacts:
    """Read a loader's effective arguments from the object itself."""
    live: Foreign = loader
    iterable = isinstance(live.dataset, IterableDataset)
    size = loader.batch_size
    if size is None:
        size = getattr(live.batch_sampler, "batch_size", None)
    return LoaderFacts(
        index=index,
        num_workers=loader.num_workers,
        batch_size=size if isinstance(size, int) else None,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=bool(loader.persistent_workers),
        pin_memory=bool(loader.pin_memory),
        multiprocessing_context=_context_name(loader),
        in_order=bool(getattr(loader, "in_order", True)),  # torch 2.6
        batches_per_epoch=None if iterable else _length(loader),
        iterable=iterable,
        dataset=type(live.dataset).__name__,
    )


def settings_in(facts: LoaderFacts) -> dict[str, SettingValue]:
    """Return the settings of a loader that are in force."""
    values: dict[str, SettingValue] = {
        "num_workers": facts.num_workers,
        "pin_memory": facts.pin_memory,
        "persistent_workers": facts.persistent_workers,
        "prefetch_factor": facts.prefetch_factor,
        "multiprocessing_context": facts.multiprocessing_context,
    }
    return {join_name(facts.index, name): value for name, value in values.items()}


def _context_name(loader: AnyLoader) -> str | None:
    if not loader.num_workers:
        return None
    live: Foreign = loader
    context: Foreign = live.multiprocessing_context
    if context is None:
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())


def _length(loader: AnyLoader) -> int | None:
    try:
        return len(loader)
    except (TypeError, NotImplementedError, AttributeError):
        return None
