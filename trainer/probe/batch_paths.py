"""Ways from a batch to something in it: found once by looking around, then walked at every batch.

Apart because samples and tokens are both found so: batches have every shape: tensors, tuples, dictionaries,
dataclasses, encodings, graphs. Code of the script's own never runs for it: a batch may decode, draw or count
where it is asked for an item.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.reached_code import is_own

_DEPTH = 4
_WIDTH = 8
"""Parts of a container that are looked into, so that a batch of a thousand strings costs nothing."""

BatchPath: TypeAlias = tuple[Callable[[Any], Any], ...]
"""Steps from a batch to what is wanted; callables of C where they can be, as this runs at every batch."""


def length_of(sequence: Foreign) -> int:
    """Return the length of a list or a tuple."""
    length: int = _base_of(kind_of(sequence)).__len__(sequence)
    return length


def kind_of(thing: object) -> Foreign:
    """Return the class of something of which nothing is known."""
    return type(thing)


def parts_of(thing: Foreign, most: int = _WIDTH) -> list[BatchPath]:
    """Return the ways to the parts of a container, in its order; none for anything else."""
    kind = kind_of(thing)
    if issubclass(kind, (list, tuple)):
        read = _reader_of(thing)
        return [(read(place),) for place in range(min(length_of(thing), most))]
    if issubclass(kind, dict):
        read = _reader_of(thing)
        return [(read(key),) for key in list(dict[Any, Any].keys(thing))[:most]]
    if is_dataclass(kind):
        return [(attrgetter(field.name),) for field in fields(kind)[:most]]
    if issubclass(kind_of(_held(thing)), dict):  # encodings that hold their tensors in a dictionary
        return [(_held, *part) for part in parts_of(_held(thing), most)]
    if issubclass(kind, Mapping):
        return [] if _is_read_by_script(thing) else [(itemgetter(key),) for key in list(thing)[:most]]
    if hasattr(kind, "to"):
        return [(attrgetter(name),) for name in list(_variables(thing))[:most]]
    return []


def way_to(thing: Foreign, name: str) -> BatchPath | None:
    """Return the way to what a dictionary, or what wraps one, has under a name; None where it has none."""
    if issubclass(kind_of(thing), dict):
        return (_reader_of(thing)(name),) if dict[Any, Any].__contains__(thing, name) else None
    held = _held(thing)
    if issubclass(kind_of(held), dict):
        below = way_to(held, name)
        return None if below is None else (_held, *below)
    foreign = issubclass(kind_of(thing), Mapping) and not _is_read_by_script(thing) and name in thing
    return (itemgetter(name),) if foreign else None


def _reader_of(thing: Foreign) -> Callable[[Any], Callable[[Any], Any]]:
    """Return what makes the way to an item of a list, tuple or dictionary, past what a script adds to it."""
    kind = kind_of(thing)
    if kind in (dict, list, tuple):
        return itemgetter
    if issubclass(kind, dict):  # `get` of all dictionaries: a default one would take a key up
        return lambda key: partial(_got, key)
    base = _base_of(kind)
    if kind.__getitem__ is base.__getitem__:
        return itemgetter
    return lambda place: partial(_item, base, place)


def _got(key: Foreign, thing: Foreign) -> Foreign:
    return dict[Any, Any].get(thing, key)


def _item(base: Foreign, place: int, thing: Foreign) -> Foreign:
    return base.__getitem__(thing, place)


def _held(thing: Foreign) -> Foreign:
    """Return what an encoding holds its tensors in; None for anything else."""
    return _variables(thing).get("data")


def _variables(thing: Foreign) -> dict[str, Foreign]:
    found: dict[str, Foreign] = getattr(thing, "__dict__", {})
    return found


def _base_of(kind: Foreign) -> Foreign:
    return list if issubclass(kind, list) else tuple


def _is_read_by_script(thing: Foreign) -> bool:
    kind = kind_of(thing)
    makers: list[Foreign] = [each for each in kind.__mro__ if "__getitem__" in vars(each)]
    return is_own((makers or [kind])[0].__module__)


def find_in(thing: Foreign, wanted: Callable[[Any], BatchPath | None], depth: int = 0) -> BatchPath | None:
    """Return the way to the first part for which `wanted` gives one, depth first; None for none."""
    found = wanted(thing)
    if found is not None:
        return found
    if depth >= _DEPTH:
        return None
    for part in parts_of(thing):
        below = find_in(walk(part, thing), wanted, depth + 1)
        if below is not None:
            return (*part, *below)
    return None


def walk(path: BatchPath, thing: Foreign) -> Foreign:
    """Return what lies at the end of a way."""
    for part in path:
        thing = part(thing)
    return thing
