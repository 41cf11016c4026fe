"""How many samples a batch holds: read from its first tensor, by a path that is found once.

Apart because batches have every shape: tensors, tuples, dictionaries, dataclasses, encodings, graphs.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter, itemgetter
from typing import Any

import torch

from perftui.trainer.probe.border import Foreign

_DEPTH = 4
_WIDTH = 8
"""Parts of a container that are looked into, so that a batch of a thousand strings costs nothing."""
_FAILURES_ALLOWED = 20
_SAMPLES_MAX = 1 << 48

_Path = tuple[Callable[[Any], Any], ...]
"""Steps from a batch to a number; each a callable of C, as this runs at every batch."""

_ROWS: _Path = (attrgetter("shape"), itemgetter(0))
_LENGTH: _Path = (len,)


def _keys(mapping: Foreign) -> list[Foreign]:
    return list(mapping)


def _length(sequence: Foreign) -> int:
    return len(sequence)


def _parts(thing: Foreign) -> list[_Path]:
    if isinstance(thing, Mapping):
        return [(itemgetter(key),) for key in _keys(thing)[:_WIDTH]]
    if isinstance(thing, (list, tuple)):
        return [(itemgetter(place),) for place in range(min(_length(thing), _WIDTH))]
    if is_dataclass(thing) and not isinstance(thing, type):
        return [(attrgetter(field.name),) for field in fields(thing)[:_WIDTH]]
    data = getattr(thing, "data", None)
    if isinstance(data, Mapping):  # encodings that hold their tensors in a dictionary
        return [(attrgetter("data"), *part) for part in _parts(data)]
    if hasattr(thing, "to") and hasattr(thing, "__dict__"):
        return [(attrgetter(name),) for name in list(vars(thing))[:_WIDTH]]
    return []


def _find(thing: Foreign, wanted: Callable[[Any], _Path | None], depth: int = 0) -> _Path | None:
    found = wanted(thing)
    if found is not None:
        return found
    if depth >= _DEPTH:
        return None
    for part in _parts(thing):
        below = _find(_walk(part, thing), wanted, depth + 1)
        if below is not None:
            return (*part, *below)
    return None


def _tensor_rows(thing: Foreign) -> _Path | None:
    return _ROWS if isinstance(thing, torch.Tensor) and thing.dim() > 0 else None


def find_path(batch: Foreign, batch_size: int | None) -> _Path | None:
    """Return how to read the number of samples from batches like this one; None where nothing gives it.

    Args:
        batch: what the loader returned.
        batch_size: what the loader says, which tells a list of images from a list of inputs.
    """

    def of_size(thing: Foreign) -> _Path | None:
        if isinstance(thing, torch.Tensor):
            return _ROWS if thing.dim() > 0 and thing.size(0) == batch_size else None
        return _LENGTH if isinstance(thing, (list, tuple)) and _length(thing) == batch_size else None

    if hasattr(batch, "num_graphs"):
        return (attrgetter("num_graphs"),)
    path = _find(batch, _tensor_rows)
    if batch_size is not None and (path is None or _walk(path, batch) != batch_size):
        path = _find(batch, of_size) or path
    return path


def _walk(path: _Path, thing: Foreign) -> Foreign:
    for part in path:
        thing = part(thing)
    return thing


class SampleCounter:
    """Counts the samples of one loader's batches.

    Args:
        batch_size: what the loader says, if it says it.
    """

    def __init__(self, batch_size: int | None) -> None:
        self._batch_size = batch_size
        self._path: _Path | None = None
        self._failures = 0

    def count(self, batch: Foreign) -> int:
        """Return the samples of a batch; -1 where it gives no size."""
        if self._path is not None:
            value = batch
            try:
                for part in self._path:
                    value = part(value)
                return int(value) if 0 <= value < _SAMPLES_MAX else -1
            except (LookupError, AttributeError, TypeError, ValueError):
                self._path = None
        if self._failures >= _FAILURES_ALLOWED:
            return -1
        self._path = find_path(batch, self._batch_size)
        if self._path is None:
            self._failures += 1
            return -1
        first = _walk(self._path, batch)
        return int(first) if 0 <= first < _SAMPLES_MAX else -1
