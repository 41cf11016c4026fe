"""`loader.X` settings: numbers the DataLoaders of the process and alters how they are built.

Apart from the hooks because this changes what the script does, where they only watch. A setting that cannot
be applied is a reason in `failed`, never an error in the script.
"""

import inspect
import re
import weakref
from collections.abc import Mapping
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.border import Foreign

_NAME = re.compile(r"loader(?:\[(\d+)\])?\.(\w+)")
_ONLY_WITH_WORKERS = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")
_INDEX = "_perftui_index"

AnyLoader = DataLoader[Any]


def split_name(name: str) -> tuple[int, str] | None:
    """Return (index of the loader, its argument) for a `loader…` setting; None for others."""
    found = _NAME.fullmatch(name)
    return (int(found[1] or 0), found[2]) if found else None


def join_name(index: int, argument: str) -> str:
    """Return the setting's name: the first loader goes without a number."""
    return f"loader.{argument}" if index == 0 else f"loader[{index}].{argument}"


class LoaderBook:
    """The DataLoaders of this process in order of construction, and what is wanted of each."""

    def __init__(self, settings: Mapping[str, SettingValue]) -> None:
        self.failed: dict[str, str] = {}
        """Settings that could not be applied, with the reason."""
        self.wanted: dict[int, dict[str, SettingValue]] = {}
        for name, value in settings.items():
            place = split_name(name)
            if place is not None:
                self.wanted.setdefault(place[0], {})[place[1]] = value
        self._built: list[weakref.ref[AnyLoader]] = []
        kind: Foreign = DataLoader
        self._signature = inspect.signature(kind.__init__)

    def number(self, loader: AnyLoader) -> int:
        """Return a loader's number, given when it is first seen."""
        index = vars(loader).get(_INDEX)
        if index is None:
            index = len(self._built)
            vars(loader)[_INDEX] = index
            self._built.append(weakref.ref(loader))
        return int(index)

    def loader(self, index: int) -> AnyLoader | None:
        """Return the living loader of that number."""
        return self._built[index]() if 0 <= index < len(self._built) else None

    @property
    def built(self) -> int:
        """How many loaders there have been."""
        return len(self._built)

    def altered(
        self, loader: AnyLoader, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the arguments to build this loader with; None to build it as the script says."""
        index = self.number(loader)
        wanted = self.wanted.get(index)
        if not wanted:
            return None
        bound = self._signature.bind(loader, *args, **kwargs)
        arguments = {name: value for name, value in bound.arguments.items() if name != "self"}
        accepted = dict(wanted)
        for name, reason in refusals(arguments, wanted).items():
            self.failed[join_name(index, name)] = reason
            accepted.pop(name, None)
        return merge(arguments, accepted) if accepted else None

    def not_applied(self, loader: AnyLoader, error: Exception) -> None:
        """The loader could not be built with our arguments; the script's own were used."""
        index = self.number(loader)
        for name in self.wanted.get(index, {}):
            self.failed.setdefault(join_name(index, name), f"the DataLoader refused: {error}")

    def never_built(self) -> dict[str, str]:
        """Return the settings whose loader the script has not built (yet)."""
        return {
            join_name(index, name): f"the script built {len(self._built)} DataLoader(s)"
            for index, wanted in self.wanted.items()
            if index >= len(self._built)
            for name in wanted
        }


def refusals(arguments: Mapping[str, Any], wanted: Mapping[str, SettingValue]) -> dict[str, str]:
    """Return what must not be applied to a loader, by argument, with the reason.

    Args:
        arguments: what the script passes.
        wanted: what the settings ask for.
    """
    dataset: Foreign = arguments["dataset"]
    mutable = hasattr(dataset, "set_epoch")
    own_workers = int(arguments.get("num_workers") or 0)
    workers = int(wanted.get("num_workers", own_workers) or 0)
    refused: dict[str, str] = {}
    if isinstance(dataset, IterableDataset) and workers > 0 and own_workers == 0:
        refused["num_workers"] = (
            "the dataset is an IterableDataset and the script uses no workers: each worker would yield every "
            "sample, unless the dataset shards itself"
        )
        workers = own_workers
    if workers == 0:
        for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            if wanted.get(name):
                refused[name] = "needs worker processes (loader.num_workers above 0)"
    elif wanted.get("persistent_workers") and mutable:
        refused["persistent_workers"] = "the dataset has set_epoch, which persistent workers would not hear"
    return refused


def merge(arguments: Mapping[str, Any], accepted: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return the script's arguments with the accepted settings, and without what workers alone allow."""
    merged = {**arguments, **accepted}
    if not merged.get("num_workers"):
        for name in _ONLY_WITH_WORKERS:
            merged.pop(name, None)
    return merged
