"""`loader.X` settings: numbers the loaders of the process and alters how they are built.

Apart from the hooks because this changes what the script does, where they only watch. A setting that cannot
be applied is a reason in `failed`, never an error in the script.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, TypeAlias

import torch
from torch.utils.data import DataLoader, IterableDataset

from perftui.ipc.figures import counted
from perftui.ipc.loader_names import join_name, split_name
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.own_files import is_ours
from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.kept_workers import begin_to_keep, let_go_if_altered
from perftui.trainer.probe.loader_reading import read_loader
from perftui.trainer.probe.own_places import place_of_call
from perftui.trainer.probe.sampler_reading import SamplerWatch
from perftui.trainer.probe.source_lines import is_installed
from perftui.trainer.probe.stream_sharding import divides

_ONLY_WITH_WORKERS = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")
_KEY = "_perftui_key"
_INDEX = "_perftui_index"
LOADERS_KEPT = 256
"""Loaders remembered; older ones are long gone."""

_Place: TypeAlias = tuple[tuple[str, int], ...]


class LoaderBook:
    """The DataLoaders of this process, and what is wanted of each.

    Each has a key of its own. Those built at the same place of the script, by the same calls, share an
    index, by which settings name them: a loader that is built anew each epoch stays the same loader.
    """

    def __init__(self, settings: Mapping[str, SettingValue]) -> None:
        self.failed: dict[str, str] = {}
        """Settings that could not be applied, with the reason."""
        self.wanted: dict[int, dict[str, SettingValue]] = {}
        for name, value in settings.items():
            place = split_name(name)
            if place is not None:
                self.wanted.setdefault(place[0], {})[place[1]] = value
        self.samplers = SamplerWatch()
        self._facts: dict[int, LoaderFacts] = {}
        self._keys = 0
        self._places: dict[_Place, int] = {}
        self._made_at: dict[int, str | None] = {}
        """By index, the line of the script's own that makes the loader."""
        self._altered: dict[int, str] = {}
        """By index, why the workers of a loader are kept no longer."""
        self._trained: dict[int, int] = {}
        """By index, how many loaders had been built when one of it was last iterated with gradients."""

    def key(self, loader: Foreign) -> int:
        """Return a loader's key, given when it is first seen."""
        attributes: Foreign = vars(loader)
        key = attributes.get(_KEY)
        if key is None:
            key = attributes[_KEY] = self._keys
            attributes[_INDEX] = self._places.setdefault(_place(), len(self._places))
            self._keys += 1
            self._facts.pop(key - LOADERS_KEPT, None)
        return int(key)

    def index(self, loader: Foreign) -> int:
        """Return a loader's index among the places where the script builds loaders."""
        self.key(loader)
        return int(vars(loader)[_INDEX])

    def note(self, loader: Foreign) -> int:
        """Read a loader that begins to be iterated; return its key."""
        key = self.key(loader)
        index = self.index(loader)
        self._facts[key] = read_loader(index, loader, self._made_at.get(index))
        if torch.is_grad_enabled():
            self._trained[index] = self._keys
        else:
            self._trained.pop(index, None)
        if isinstance(loader, DataLoader):  # others draw their indices in ways of their own
            self.samplers.begin(index, loader)
        return key

    def index_of(self, key: int) -> int | None:
        """Return the index of the loader with that key; None for one that was never iterated."""
        facts = self._facts.get(key)
        return None if facts is None else facts.index

    def facts(self, key: int) -> LoaderFacts | None:
        """Return what a loader said of itself when it was last iterated."""
        return self._facts.get(key)

    def facts_at(self, index: int) -> LoaderFacts | None:
        """Return the same of the newest loader of that index."""
        return next((f for f in reversed(list(self._facts.values())) if f.index == index), None)

    def replaced(self, training: int) -> list[int]:
        """Return the indices that settings name of loaders whose place in the training another one has taken.

        Args:
            training: key of the loader that trains now, which was built after them.
        """
        now = self.index_of(training)
        if now is None:
            return []
        return [i for i in self.wanted if i != now and self._trained.get(i, training + 1) <= training]

    @property
    def built(self) -> int:
        """At how many places the script has built loaders."""
        return len(self._places)

    def altered(
        self,
        loader: Foreign,
        signature: inspect.Signature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Return the arguments to build this loader with; None to build it as the script says.

        Args:
            loader: about to be built.
            signature: of its `__init__`.
            args: what the script passes, as are `kwargs`.
            kwargs: see there.
        """
        index = self.index(loader)
        if index not in self._made_at:
            self._made_at[index] = place_of_call(sys._getframe(1))
        wanted = self.wanted.get(index)
        if not wanted:
            return None
        try:
            bound = signature.bind(loader, *args, **kwargs)
        except TypeError as error:  # its own words, if it is one
            self.not_applied(loader, error)
            return None
        arguments = bound.arguments
        arguments.pop("self", None)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(name, {}))
        accepted = dict(wanted)
        unknown = {
            name: f"{type(loader).__name__} takes no {name}"
            for name in wanted
            if name not in signature.parameters
        }
        if "persistent_workers" in wanted and index in self._altered:
            unknown["persistent_workers"] = self._altered[index]
        for name, reason in (refusals(arguments, wanted) | unknown).items():
            self.failed[join_name(index, name)] = reason
            accepted.pop(name, None)
        if accepted.get("persistent_workers") and not arguments.get("persistent_workers"):
            begin_to_keep(loader)
        return merge(arguments, accepted) if accepted else None

    def begin(self, loader: Foreign) -> None:
        """A loader is about to be iterated: workers that were kept for a setting may have to go."""
        altered = let_go_if_altered(loader)
        if altered is not None:
            index = self.index(loader)
            self._altered[index] = (
                f"the script alters {altered} between epochs, which persistent workers would not hear"
            )
            self.failed[join_name(index, "persistent_workers")] = self._altered[index]

    def not_applied(self, loader: Foreign, error: Exception) -> None:
        """The loader could not be built with our arguments; the script's own were used."""
        index = self.index(loader)
        for name in self.wanted.get(index, {}):
            self.failed.setdefault(join_name(index, name), f"the DataLoader refused: {error}")

    def never_built(self) -> dict[str, str]:
        """Return the settings whose loader the script has not built (yet)."""
        return {
            join_name(index, name): f"the script built {counted(self.built, 'DataLoader')}"
            for index, wanted in self.wanted.items()
            if index >= self.built
            for name in wanted
        }


def _place() -> _Place:
    """Return where in the script we are: file and line of the calls that led here, but for our own."""
    place: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame.f_code.co_filename):
            place.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return of_the_script(place)


def of_the_script(calls: Sequence[tuple[str, int]]) -> _Place:
    """Return what of the calls, the innermost first, tells a place of the script from others.

    A framework may come to the same function of the script by another line of its own in each epoch: beyond
    the innermost line of the script, lines of what is installed are left out. Those before it count, as a
    framework that builds loaders by itself has one line for each.
    """
    own = [not is_installed(file) and not file.startswith("<frozen") for file, _ in calls]
    innermost = own.index(True) if True in own else len(own)
    return tuple(call for number, call in enumerate(calls) if number <= innermost or own[number])


def refusals(arguments: Mapping[str, Any], wanted: Mapping[str, SettingValue]) -> dict[str, str]:
    """Return what must not be applied to a loader, by argument, with the reason.

    Args:
        arguments: what the script passes.
        wanted: what the settings ask for.
    """
    dataset: Foreign = arguments.get("dataset")
    mutable = hasattr(dataset, "set_epoch")
    own_workers = int(arguments.get("num_workers") or 0)
    workers = int(wanted.get("num_workers", own_workers) or 0)
    refused: dict[str, str] = {}
    if workers != own_workers and _is_stream(dataset) and divides(dataset) is not True:
        kind = "an IterableDataset" if isinstance(dataset, IterableDataset) else "a stream"
        refused["num_workers"] = (
            f"the dataset is {kind} that is not known to divide its data: each worker yields every sample, "
            "so that with another number of them it is another training"
        )
        workers = own_workers
    if workers == 0:
        for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            if wanted.get(name):
                refused[name] = "needs worker processes (loader.num_workers above 0)"
    elif wanted.get("persistent_workers") and mutable:
        refused["persistent_workers"] = "the dataset has set_epoch, which persistent workers would not hear"
    return refused


def _is_stream(dataset: Foreign) -> bool:
    by_number = hasattr(dataset, "__getitem__") or hasattr(dataset, "__getitems__")
    return isinstance(dataset, IterableDataset) or not by_number


def merge(arguments: Mapping[str, Any], accepted: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return the script's arguments with the accepted settings, and without what workers alone allow."""
    merged = {**arguments, **accepted}
    if not merged.get("num_workers"):
        for name in _ONLY_WITH_WORKERS:
            merged.pop(name, None)
    return merged
