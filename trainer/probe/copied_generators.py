"""Random generators that the script makes once and each loader worker gets a copy of, all in the same state.

torch seeds the global generators apart in each worker; of one that the dataset keeps for itself it knows
nothing. Told from what the dataset and the collate function hold and from the names that their code uses:
nothing of the script's is run. Where code seeds anew, or asks which worker it is in, none is told. The same
search in a worker finds the same generators there, by their keys: of these the worker tells the states.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from types import FunctionType, MethodType
from typing import NamedTuple

from msgspec.structs import replace
from torch.utils.data import DataLoader

from perftui.ipc.loader_facts import CopiedGenerator
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.generator_states import kind_of
from perftui.trainer.probe.loader_reading import context_name
from perftui.trainer.probe.made_at import attribute_set, closed_over, global_set
from perftui.trainer.probe.reached_code import Named, Reached, is_own, members, reached_from

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
_FROM_DATASET = "torch.utils.data.get_worker_info().dataset"
_CARRIERS = ("torch", "torchvision", "torchaudio")
"""Installed packages whose datasets and transforms may hold the script's own."""
_PLAIN = {"__init__", "__module__", "__doc__", "__dict__", "__len__", "__getitem__"}
_HOLDERS_SEEN = 64
_PARTS_SEEN = 32
_DEPTH = 8
GENERATORS_TOLD = 8


class _Route(NamedTuple):
    """By which expression something is reached."""

    text: str
    """Empty: by none."""
    module: str = ""
    """Of which that is a global; empty: it is reached from the dataset of a worker."""

    def to(self, step: str | None) -> "_Route":
        """Return the route one step on, such as `.rng` or `[0]`; None: there is no such step."""
        return self._replace(text=f"{self.text}{step}" if self.text and step is not None else "")


class _Way(NamedTuple):
    """What leads to something."""

    route: _Route

    holders: tuple[Foreign, ...]
    """Outermost first."""
    names: frozenset[str]
    """That their code uses."""
    begin: frozenset[str]
    """Methods by which the next one is called."""
    left: int
    """How many more may follow."""

    def on(self, step: str | None, begin: frozenset[str] = _SERVING) -> "_Way":
        """Return the way one step further."""
        return self._replace(route=self.route.to(step), begin=begin, left=self.left - 1)

    def through(self, holder: Foreign, names: frozenset[str] = frozenset()) -> "_Way":
        """Return the way with another holder."""
        return self._replace(holders=(*self.holders, holder), names=self.names | names)


class _Found(NamedTuple):
    told: CopiedGenerator
    """All but where it is made."""
    way: _Way
    value: Foreign
    made: Callable[[], str]
    """Asked in the parent only."""


class KeyedGenerator(NamedTuple):
    """A generator in a worker."""

    key: int
    value: Foreign


class Copied(NamedTuple):
    """A generator of which workers have copies, as the parent finds it."""

    told: CopiedGenerator
    key: int
    """Under which a worker tells of its own one."""
    may_seed: bool
    """The script's `worker_init_fn` may seed it anew, or cannot be read."""


def copies_in_workers(loader: Foreign) -> list[Copied]:
    """Return the generators of which the workers of a loader have copies.

    Of a loader of another kind than torch's it is not known what its workers do: none.
    """
    if not isinstance(loader, DataLoader) or loader.num_workers < 2:
        return []
    init: Foreign = vars(loader).get("worker_init_fn")
    return [
        Copied(
            replace(each.told, made=each.made()),
            _key_of(each.told),
            init is not None and _may_seed(init, each),
        )
        for each in _found((loader.dataset, loader.collate_fn), forked=context_name(loader) == "fork")
    ]


def generators_here(roots: tuple[Foreign, Foreign], *, forked: bool) -> Iterator[KeyedGenerator]:
    """Return the same generators in a worker: it has its own.

    Args:
        roots: its dataset, and its collate function.
        forked: it was forked, and has a copy of all memory.
    """
    for each in _found(roots, forked=forked):
        yield KeyedGenerator(_key_of(each.told), each.value)


def _found(roots: tuple[Foreign, Foreign], *, forked: bool) -> list[_Found]:
    search = _Search(forked=forked)
    for root, text in zip(roots, (_FROM_DATASET, ""), strict=True):
        search.look(root, _Way(_Route(text), (), frozenset(), _SERVING, _DEPTH))
    known: set[tuple[str, str, int]] = set()
    told: list[_Found] = []
    for each in search.found:
        one = each.told.owner, each.told.attribute, id(each.value)
        if one not in known:
            known.add(one)
            told.append(each)
    return told[:GENERATORS_TOLD]


def _key_of(told: CopiedGenerator) -> int:
    """Return a key that is the same on both sides: a class may be another one there, the way to it is not."""
    return zlib.crc32(f"{told.module} {told.reached or told.owner} {told.attribute}".encode())


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
            self.look(holder.__self__, way.on(".__self__", frozenset({holder.__func__.__name__})))
        elif kind in (list, tuple, dict, partial):
            for step, part in islice(_parts_of(holder), _PARTS_SEEN):
                self.look(part, way.on(step, way.begin))
        elif kind is FunctionType:
            if is_own(holder.__module__):
                self._seen.add(key)
                self._look_at_values(reached_from([holder], []), way.through(holder))
        elif is_own(kind.__module__):
            self._seen.add(key)
            self._look_at(holder, _classes_of(kind), way)
        elif kind.__module__.split(".")[0] in _CARRIERS:
            self._seen.add(key)
            for name, value in islice(tuple(_held(holder).items()), _PARTS_SEEN):
                self.look(value, way.through(holder).on(_step_to(name), way.begin | _SERVING))

    def _look_at(self, holder: Foreign, classes: list[type], way: _Way) -> None:
        """Look at an object of the script's."""
        if not self._forked and any(name in vars(kind) for kind in classes for name in _PICKLES):
            return  # it may leave its generator out
        reached = reached_from([each for _, each in members(classes, way.begin)], classes)
        way = way.through(holder, reached.names)
        for name, value in {**dict(members(reversed(classes), reached.own)), **_held(holder)}.items():
            if name in reached.own:
                on = way.on(_step_to(name), reached.names | _SERVING)
                if self._is_copied(name, value, on, reached):
                    made = partial(attribute_set, tuple(classes), name)
                    self._note(type(holder).__name__, name, made, value, on)
                self.look(value, on)
        self._look_at_values(reached, way)

    def _look_at_values(self, reached: Reached, way: _Way) -> None:
        """Look at what functions name beside attributes; a process that is not forked makes them anew."""
        way = way._replace(names=way.names | reached.names)
        for each in reached.values if self._forked else ():
            route = _Route("" if each.closing else each.name, each.module)
            on = way.on("", reached.names | _SERVING)._replace(route=route)
            if self._is_copied(each.name, each.value, on, reached):
                self._note(each.module, each.name, partial(_made, each), each.value, on)
            if type(each.value) is not FunctionType:
                self.look(each.value, on)

    def _is_copied(self, name: str, value: Foreign, way: _Way, reached: Reached) -> bool:
        if kind_of(value) is None or name in reached.stored:
            return False
        return not (way.names & _SETS or _any_part(way.names, _APART))

    def _note(self, owner: str, name: str, made: Callable[[], str], value: Foreign, way: _Way) -> None:
        told = CopiedGenerator(
            owner=owner,
            attribute=name,
            kind=kind_of(value) or "",
            reached=way.route.text,
            module=way.route.module,
        )
        self.found.append(_Found(told, way, value, made))


def _made(named: Named) -> str:
    if named.closing is None:
        return global_set(named.module, named.name)
    return closed_over(named.closing.co_filename, named.closing.co_firstlineno, named.name)


def _parts_of(holder: Foreign) -> Iterator[tuple[str | None, Foreign]]:
    """Return what a container holds, each with the step to it."""
    if type(holder) is partial:
        yield ".func", holder.func
        yield from ((f".args[{at}]", value) for at, value in enumerate(holder.args))
        yield from ((f".keywords[{name!r}]", value) for name, value in holder.keywords.items())
    elif type(holder) is dict:
        plain = (str, int)
        yield from ((f"[{key!r}]" if type(key) in plain else None, holder[key]) for key in tuple(holder))
    else:
        yield from ((f"[{at}]", value) for at, value in enumerate(holder))


def _step_to(name: str) -> str:
    """Return the step to an attribute; parts of a module may have a number for a name."""
    return f".{name}" if name.isidentifier() else f"._modules[{name!r}]"


def _classes_of(kind: type) -> list[type]:
    return [each for each in kind.__mro__ if each.__module__ not in ("builtins", "typing", "abc")]


def _held(holder: Foreign) -> dict[str, Foreign]:
    """Return the attributes of an object, a module's parts among them."""
    held: dict[str, Foreign] = {}
    with suppress(AttributeError):  # it has slots
        held = object.__getattribute__(holder, "__dict__")
    parts = held.get("_modules")
    return {**held, **parts} if type(parts) is dict else held


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
        named.value is each for named in reached.values for each in found.way.holders
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
