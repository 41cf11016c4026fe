"""What a live DataLoader says of itself, taken when it begins to be iterated: later it may be gone.

A loop over `DataLoader(...)` without a name keeps only the iterator alive.
"""

import multiprocessing

from torch.utils.data import IterableDataset

from perftui.ipc.loader_names import join_name
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.epoch_length import epoch_length
from perftui.trainer.probe.serving_code import called_at, serves_at
from perftui.trainer.probe.stream_sharding import divides


def built_by_script(loader: Foreign) -> Foreign:
    """Return the loader that the script knows: fastai's has a stand-in iterated, of which it is the owner."""
    owner = getattr(loader, "__dict__", {}).get("d")
    return owner if _stand_in(owner) is loader else loader


def _stand_in(loader: Foreign) -> Foreign:
    """Return what torch's iterators are given: the loader itself but for fastai's."""
    return getattr(loader, "__dict__", {}).get("fake_l", loader)


def read_loader(index: int, loader: Foreign, made_at: str | None = None) -> LoaderFacts:
    """Read a loader's effective arguments from the object itself, which need not be one of torch's.

    Args:
        index: of the loader.
        loader: about to be iterated.
        made_at: the line of the script's own that makes it, where that is known.
    """
    given = _stand_in(loader)
    workers = int(given.num_workers)
    iterable = isinstance(loader.dataset, IterableDataset)
    return LoaderFacts(
        index=index,
        num_workers=workers,
        batch_size=_batch_size(loader),
        prefetch_factor=given.prefetch_factor if workers else None,
        persistent_workers=bool(given.persistent_workers),
        pin_memory=bool(given.pin_memory),
        multiprocessing_context=context_name(given) if workers else None,
        in_order=bool(getattr(given, "in_order", True)),  # torch 2.6
        batches_per_epoch=None if iterable else epoch_length(loader),
        iterable=iterable,
        dataset=type(loader.dataset).__name__,
        sharded=_sharded(loader) if iterable else None,
        made_at=made_at,
        fetch_at=serves_at(loader.dataset),
        collate_at=called_at(getattr(loader, "__dict__", {}).get("collate_fn")),
    )


def _sharded(loader: Foreign) -> bool | None:
    """Tell whether an IterableDataset divides its data over workers; None: cannot be told."""
    divided = divides(loader.dataset)
    return None if divided is False and loader.worker_init_fn is not None else divided


def settings_in(facts: LoaderFacts) -> dict[str, SettingValue]:
    """Return the settings of a loader that are in force."""
    values: dict[str, SettingValue] = {
        "num_workers": facts.num_workers,
        "pin_memory": facts.pin_memory,
        "persistent_workers": facts.persistent_workers,
        "prefetch_factor": facts.prefetch_factor,
        "multiprocessing_context": facts.multiprocessing_context,
        "in_order": facts.in_order,
    }
    return {join_name(facts.index, name): value for name, value in values.items()}


def _batch_size(loader: Foreign) -> int | None:
    if _stand_in(loader) is not loader:
        size = loader.bs
    else:
        size = loader.batch_size
        if size is None:
            size = getattr(loader.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) else None


def context_name(loader: Foreign) -> str:
    """Return how a loader starts its workers: fork, spawn or forkserver."""
    context: Foreign = loader.multiprocessing_context
    if context is None:
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())
