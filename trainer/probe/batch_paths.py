"""Ways from a batch to something in it: found once by looking around, then walked at every batch.

Apart because samples and tokens are both found so: batches have every shape: tensors, tuples, dictionaries,
dataclasses, encodings, graphs.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from perftui.trainer.probe.border import Foreign

_DEPTH = 4
_WIDTH = 8
"""Parts of a container that are looked into, so that a batch of a thousand strings costs nothing."""

BatchPath: TypeAlias = tuple[Callable[[Any], Any], ...]
"""Steps from a batch to what is wanted; each a callable of C, as this runs at every batch."""


def length_of(sequence: Foreign) -> int:
    """Return the length of what is known to have one."""
    return len(sequence)


def parts_of(thing: Foreign) -> list[BatchPath]:
    """Return the ways to the parts of a container, in its order; none for anything else."""
    if isinstance(thing, Mapping):
        keys: Foreign = thing
        return [(itemgetter(key),) for key in list(keys)[:_WIDTH]]
    if isinstance(thing, (list, tuple)):
        return [(itemgetter(place),) for place in range(min(length_of(thing), _WIDTH))]
    if is_dataclass(thing) and not isinstance(thing, type):
        return [(attrgetter(field.name),) for field in fields(thing)[:_WIDTH]]
    data = getattr(thing, "data", None)
    if isinstance(data, Mapping):  # encodings that hold their tensors in a dictionary
        return [(attrgetter("data"), *part) for part in parts_of(data)]
    if hasattr(thing, "to") and hasattr(thing, "__dict__"):
        return [(attrgetter(name),) for name in list(vars(thing))[:_WIDTH]]
    return []


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
