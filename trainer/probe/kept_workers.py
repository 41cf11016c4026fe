"""Workers kept over epochs for a setting: let go as soon as the script alters what they have a copy of.

A script may draw samples anew, switch an augmentation off or tell its dataset the epoch. Workers that are
started in each epoch see it, kept ones never do. So what the dataset holds is compared at each epoch's start,
as it was when the epoch before began.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import NamedTuple, cast

import torch

from perftui.trainer.probe.border import Foreign

_KEPT = "_perftui_kept"
_DEPTH = 4
"""Subset, dataset, composed transforms, one transform."""
_MARKS = 512
_LOOKED_AT = 16
"""Elements of a container, evenly spread."""
_WHOLE = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, torch.Tensor)
"""What is compared as one thing, although it has attributes."""
_PYTHONS = sys.stdlib_module_names - {"argparse", "types"}
"""Loggers, locks, files: what is altered within them is not the script's doing. Namespaces are its own."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Mark(NamedTuple):
    """What something was: the thing itself, so that no other one gets its address, and a look inside."""

    thing: Foreign
    inside: tuple[object, ...] | bytes | int | None = None

    def is_of(self, other: "Mark") -> bool:
        """Tell whether nothing has changed, as far as can be seen."""
        if isinstance(self.thing, _PLAIN) and type(self.thing) is type(other.thing):
            return self.thing is other.thing or bool(self.thing == other.thing)
        return self.thing is other.thing and self.inside == other.inside


Holding = dict[str, Mark]
"""By the way to it from the dataset: `dataset.mosaic`."""


def begin_to_keep(loader: Foreign) -> None:
    """The workers of a loader, about to be built, are kept for the sake of a setting."""
    loader.__dict__[_KEPT] = {}


def remember(loader: Foreign) -> None:
    """A loader has begun to be iterated: note what its workers have a copy of."""
    if loader.__dict__.get(_KEPT) is not None and _kept_iterator(loader) is not None:
        loader.__dict__[_KEPT] = holding(loader.dataset)


def let_go_if_altered(loader: Foreign) -> str | None:
    """Have a loader that is about to be iterated start new workers, where the old ones know too little.

    Returns:
        What the script has altered; None where nothing is known to be, or nothing is kept.
    """
    before: Holding | None = loader.__dict__.get(_KEPT)
    iterator = _kept_iterator(loader)
    if not before or iterator is None:
        return None
    altered = difference(before, holding(loader.dataset))
    if altered is not None:
        # past the loader's own refusal to alter it: only how its next iterator is made depends on these
        loader.__dict__.update({"_iterator": None, "persistent_workers": False, _KEPT: None})
        iterator._shutdown_workers()
    return altered


def _kept_iterator(loader: Foreign) -> Foreign:
    attributes = loader.__dict__
    return attributes.get("_iterator") if attributes.get("persistent_workers") else None


def difference(before: Holding, now: Holding) -> str | None:
    """Return the first that was altered, came or went."""
    for name in (*before, *(name for name in now if name not in before)):
        if name not in before or name not in now or not before[name].is_of(now[name]):
            return name
    return None


def holding(dataset: Foreign) -> Holding:
    """Return what a dataset holds, with what that holds in turn: datasets within it, transforms."""
    found: Holding = {}
    waiting: list[tuple[str, Foreign, int]] = [("dataset", dataset, 0)]
    seen: set[int] = set()
    for path, thing, depth in waiting:  # grows as it goes
        if id(thing) in seen or len(found) >= _MARKS:
            continue
        seen.add(id(thing))
        for name, value in islice(list(_attributes(thing)), _MARKS - len(found)):
            way = f"{path}.{name}"
            found[way] = Mark(value, _inside(value))
            if depth < _DEPTH:
                waiting.append((way, value, depth + 1))
                parts = enumerate(_elements(value))
                waiting += [(f"{way}[{number}]", part, depth + 1) for number, part in parts]
    return found


def _attributes(thing: Foreign) -> Iterable[tuple[str, Foreign]]:
    if isinstance(thing, _WHOLE) or type(thing).__module__.split(".")[0] in _PYTHONS:
        return ()
    own: Foreign = getattr(thing, "__dict__", None)
    return () if type(own) is not dict else cast("dict[str, Foreign]", own).items()


def _elements(value: Foreign) -> Iterator[Foreign]:
    """Return some elements of a container of Python's."""
    is_list, is_dict = isinstance(value, (list, tuple)), isinstance(value, dict)
    if is_list:
        step = max(1, _length(value) // _LOOKED_AT)
        yield from islice(value[::step], _LOOKED_AT)
    elif is_dict or isinstance(value, (set, frozenset)):
        yield from islice(_values(value) if is_dict else value, _LOOKED_AT)


def _length(value: Foreign) -> int:
    return len(value)


def _values(value: Foreign) -> Iterable[Foreign]:
    found: Iterable[Foreign] = value.values()
    return found


def _inside(value: Foreign) -> tuple[object, ...] | bytes | int | None:
    """Return what changes where something is altered in place."""
    if isinstance(value, torch.Tensor):
        return None if value.is_inference() else int(value._version)
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray" and value.size:
        looked = value.flat[:: max(1, value.size // _LOOKED_AT)]
        return bytes(looked.tobytes())
    if isinstance(value, (Sequence, Mapping, Set)) and not isinstance(value, (str, bytes)):
        return (_length(value), *map(id, _elements(value)))
    return None
