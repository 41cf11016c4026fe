"""How many samples and tokens a batch holds: one number, read by paths that are found once.

A batch's size is samples in its low bits and tokens above them, so that sizes of micro-batches add up and the
step clock need not know: `samples_in` and `tokens_in` take them apart when a step is finished.
"""

from operator import attrgetter, itemgetter
from typing import Any

import torch

from perftui.trainer.probe.batch_paths import BatchPath, find_in, kind_of, length_of, walk
from perftui.trainer.probe.batch_sizes import SAMPLES_MAX, TOKEN
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.tokens import find_tokens

_FAILURES_ALLOWED = 20

_ROWS: BatchPath = (attrgetter("shape"), itemgetter(0))
_LENGTH: BatchPath = (length_of,)


def _one(_batch: Foreign) -> int:
    return 1


_ALONE: BatchPath = (_one,)
"""A sample that no batch was made of: `batch_size=1` with a collate function that takes it out."""


def _tensor_rows(thing: Foreign) -> BatchPath | None:
    return _ROWS if isinstance(thing, torch.Tensor) and thing.dim() > 0 else None


def find_path(batch: Foreign, batch_size: int | None) -> BatchPath | None:
    """Return how to read the number of samples from batches like this one; None where nothing gives it.

    Args:
        batch: what the loader returned.
        batch_size: what the loader says, which tells a list of images from a list of inputs.
    """

    def of_size(thing: Foreign) -> BatchPath | None:
        if isinstance(thing, torch.Tensor):
            return _ROWS if thing.dim() > 0 and thing.size(0) == batch_size else None
        return _LENGTH if isinstance(thing, (list, tuple)) and length_of(thing) == batch_size else None

    if hasattr(kind_of(batch), "num_graphs") or "num_graphs" in getattr(batch, "__dict__", ()):
        return (attrgetter("num_graphs"),)
    path = find_in(batch, _tensor_rows)
    if batch_size is not None and (path is None or walk(path, batch) != batch_size):
        path = find_in(batch, of_size) or (_ALONE if batch_size == 1 else path)
    return path


class SampleCounter:
    """Counts the samples and tokens of one loader's batches.

    Args:
        batch_size: what the loader says, if it says it.
    """

    def __init__(self, batch_size: int | None) -> None:
        self._batch_size = batch_size
        self._path: BatchPath | None = None
        self._tokens: BatchPath | None = None
        self._failures = 0

    def count(self, batch: Foreign) -> int:
        """Return the size of a batch; -1 where it gives none. In one piece: it runs at every batch."""
        if self._path is not None:
            value: Any = batch
            try:
                for part in self._path:
                    value = part(value)
                if not 0 <= value < SAMPLES_MAX:
                    return -1
                if self._tokens is None:
                    return int(value)
                tokens: Any = batch
                for part in self._tokens:
                    tokens = part(tokens)
                return int(value) + TOKEN * int(tokens)
            except (LookupError, AttributeError, TypeError, ValueError):
                self._path = None
        if self._failures >= _FAILURES_ALLOWED:
            return -1
        path = find_path(batch, self._batch_size)
        if path is None:
            self._failures += 1
            return -1
        self._path, self._tokens = path, find_tokens(batch)
        samples = walk(path, batch)
        tokens = 0 if self._tokens is None else walk(self._tokens, batch)
        return int(samples) + TOKEN * int(tokens) if 0 <= samples < SAMPLES_MAX else -1
