"""Random generators that the script makes once and each loader worker gets a copy of, all in the same state.

torch seeds the global generators apart in each worker; of one that the dataset keeps for itself it knows
nothing. Told in the parent, from what the dataset and the collate function hold and from the names that their
code uses: nothing of the script's is run. Where code seeds anew, or asks which worker it is in, none is told.
"""

import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from types import FunctionType, MethodType
from typing import NamedTuple

import torch
from torch.utils.data import DataLoader

from perftui.ipc.loader_facts import CopiedGenerator
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.loader_reading import context_name
from perftui.trainer.probe.reached_code import Reached, is_own, members, reached_from

_SERVING = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__", "__call__", "forward"})
"""What is called in a worker of a dataset, and of what a dataset holds, beside what its code names."""
_APART = ("worker_info", "worker_id", "seed", "getpid")
"""Parts of names by which a process tells itself from others, or draws by the number of the sample."""
_SETS = {
    "set_state",
    "setstate",
    "bit_generator",
    "jumped",
    "advance",
    "spawn",
    "deepcopy",
    "register_at_fork",
}
_PICKLES = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__")
_CARRIERS = ("torch", "torchvision", "torchaudio")
"""Installed packages whose datasets and transforms may hold the script's own."""
_NUMPYS = ("Generator", "RandomState")
_PLAIN = {"__init__", "__module__", "__doc__", "__dict__", "__len__", "__getitem__"}
_HOLDERS_SEEN = 64
_PARTS_SEEN = 32
_DEPTH = 8
_TOLD = 8


class _Way(NamedTuple):
    """What leads to something."""

    holders: tuple[Foreign, ...]
    """Outermost first."""
    names: frozenset[str]
    """That their code uses."""
    begin: frozenset[str]
    """Methods by which the next one is called."""
    left: int
    """How many more may follow."""

    def on(self, begin: frozenset[str] = _SERVING) -> "_Way":
        """Return the way one further."""
        return self._replace(begin=begin, left=self.left - 1)

    def through(self, holder: Foreign, names: frozenset[str] = frozenset()) -> "_Way":
        """Return the way with another holder."""
        return self._replace(holders=(*self.holders, holder), names=self.names | names)


class _Found(NamedTuple):
    told: CopiedGenerator
    way: _Way


def copied_generators(loader: Foreign) -> list[CopiedGenerator]:
    """Return the generators of which the workers of a loader have copies in the same state.

    Of a loader of another kind than torch's it is not known what its workers do: none.
    """
    if not isinstance(loader, DataLoader) or loader.num_workers < 2:
        return []
    search = _Search(forked=context_name(loader) == "fork")
    for root in (loader.dataset, loader.collate_fn):
        search.look(root, _Way((), frozenset(), _SERVING, _DEPTH))
    init: Foreign = vars(loader).get("worker_init_fn")
    told: list[CopiedGenerator] = []
    for found in search.found:
        if found.told not in told and (init is None or not _may_seed(init, found)):
            told.append(found.told)
    return told[:_TOLD]


class _Search:
    """Goes through what a loader's workers use.

    Args:
        forked: workers have a copy of all memory; else of what was pickled.
    """

    def __init__(self, *, forked: bool) -> None:
        self.found: list[_Found] = []
        self._forked = forked
        self._seen: set[tuple[int, frozenset[str]]] = set()

    def look(self, holder: Foreign, way: _Way) -> None:
        """Look into something that is used in a worker: an object, a function, or a container of such."""
        key = id(holder), way.begin
        if way.left <= 0 or key in self._seen or len(self._seen) >= _HOLDERS_SEEN:
            return
        kind: type[Foreign] = type(holder)
        if kind is MethodType:
            self.look(holder.__self__, way.on(frozenset({holder.__func__.__name__})))
        elif kind in (list, tuple, dict, partial):
            for part in islice(_parts_of(holder), _PARTS_SEEN):
                self.look(part, way.on(way.begin))
        elif kind is FunctionType:
            if is_own(holder.__module__):
                self._seen.add(key)
                self._look_at_values(reached_from([holder], []), way.through(holder))
        elif is_own(kind.__module__):
            self._seen.add(key)
            self._look_at(holder, _classes_of(kind), way)
        elif kind.__module__.split(".")[0] in _CARRIERS:
            self._seen.add(key)
            for value in islice(tuple(_held(holder).values()), _PARTS_SEEN):
                self.look(value, way.through(holder).on(way.begin | _SERVING))

    def _look_at(self, holder: Foreign, classes: list[type], way: _Way) -> None:
        """Look at an object of the script's."""
        if not self._forked and any(name in vars(kind) for kind in classes for name in _PICKLES):
            return  # it may leave its generator out
        reached = reached_from([each for _, each in members(classes, way.begin)], classes)
        way = way.through(holder, reached.names)
        for name, value in {**dict(members(reversed(classes), reached.own)), **_held(holder)}.items():
            if name in reached.own:
                self._note(type(holder).__name__, name, value, way, reached)
                self.look(value, way.on(reached.names | _SERVING))
        self._look_at_values(reached, way)

    def _look_at_values(self, reached: Reached, way: _Way) -> None:
        """Look at what functions name beside attributes; a process that is not forked makes them anew."""
        way = way._replace(names=way.names | reached.names)
        for module, name, value in reached.values if self._forked else ():
            self._note(module, name, value, way, reached)
            if type(value) is not FunctionType:
                self.look(value, way.on(reached.names | _SERVING))

    def _note(self, owner: str, name: str, value: Foreign, way: _Way, reached: Reached) -> None:
        kind = _kind_of(value)
        if kind is None or name in reached.stored or way.names & _SETS or _any_part(way.names, _APART):
            return
        self.found.append(_Found(CopiedGenerator(owner=owner, attribute=name, kind=kind), way))


def _parts_of(holder: Foreign) -> Iterable[Foreign]:
    if type(holder) is partial:
        return (holder.func, *holder.args, *holder.keywords.values())
    return tuple(holder.values()) if type(holder) is dict else holder


def _classes_of(kind: type) -> list[type]:
    return [each for each in kind.__mro__ if each.__module__ not in ("builtins", "typing", "abc")]


def _held(holder: Foreign) -> dict[str, Foreign]:
    """Return the attributes of an object, a module's parts among them."""
    held: dict[str, Foreign] = {}
    with suppress(AttributeError):  # it has slots
        held = object.__getattribute__(holder, "__dict__")
    parts = held.get("_modules")
    return {**held, **parts} if type(parts) is dict else held


def _kind_of(value: Foreign) -> str | None:
    """Return what kind of generator something is; None: it is none that keeps a state of its own."""
    kind: type[Foreign] = type(value)
    if kind is random.Random:
        return "random.Random"
    if kind is torch.Generator:
        return "torch.Generator"
    numpy: dict[str, Foreign] = vars(sys.modules.get("numpy.random", random))
    return next((f"numpy.{name}" for name in _NUMPYS if kind is numpy.get(name)), None)


def _any_part(names: Iterable[str], parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for name in names for part in parts)


def _may_seed(init: Foreign, found: _Found) -> bool:
    """Return whether a `worker_init_fn` may seed a generator anew, or cannot be read."""
    function = _function_of(init)
    if function is None:
        return True
    reached = reached_from([function], [])
    owned = {name for each in found.way.holders for kind in _classes_of(type(each)) for name in vars(kind)}
    telling = {"dataset", found.told.attribute, *owned} - _PLAIN
    return bool(telling & reached.names) or any(
        value is each for _, _, value in reached.values for each in found.way.holders
    )


def _function_of(init: Foreign) -> FunctionType | None:
    """Return the function that something callable ends in; None where that is none of Python's."""
    kind: type[Foreign] = type(init)
    if kind is FunctionType:
        return init  # type: ignore[no-any-return]
    if kind in (MethodType, partial):
        return _function_of(init.__func__ if kind is MethodType else init.func)
    return next(_called(kind), None)


def _called(kind: type) -> Iterator[FunctionType]:
    yield from (each for _, each in members(_classes_of(kind), {"__call__"}) if type(each) is FunctionType)
