"""What batches look like: shapes, types, page-locked or not; asked rarely, with bounded work.

Apart from the counting of samples, which happens at every batch and wants one number.
"""

from collections import deque
from collections.abc import Callable, Iterator

import torch

from perftui.ipc.facts import BatchFacts, BatchSignature, TensorFacts
from perftui.trainer.probe.batch_paths import parts_of, walk
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.loader_workers import LOADERS_TOLD
from perftui.trainer.probe.tokens import padding_of

TENSORS_SHOWN = 8
LOOK_EVERY = 256
"""Batches from one look to the next; the first of a loader is always looked at."""
_PARTS_VISITED = 64
_SHAPES_KEPT = 64
_EXAMPLES = 4
NOT_SEEN = "no batch of the training loader was looked at"


def describe_batch(batch: Foreign) -> BatchSignature:
    """Return what the first tensors of a batch look like; at most 64 parts are looked into."""
    found: list[torch.Tensor] = []
    for tensor in _tensors(batch):
        if len(found) == TENSORS_SHOWN:
            return BatchSignature(tensors=[_describe(one) for one in found], more=True)
        found.append(tensor)
    return BatchSignature(tensors=[_describe(one) for one in found])


def _tensors(batch: Foreign) -> Iterator[torch.Tensor]:
    waiting = deque([batch])
    for _ in range(_PARTS_VISITED):
        if not waiting:
            return
        part = waiting.popleft()
        if isinstance(part, torch.Tensor):
            yield part
        else:
            waiting.extendleft(reversed(_parts(part)))  # depth first: in the order of the batch


def _parts(thing: Foreign) -> list[Foreign]:
    return [walk(part, thing) for part in parts_of(thing, _PARTS_VISITED)]


def _describe(tensor: torch.Tensor) -> TensorFacts:
    return TensorFacts(
        shape=list(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        device=str(tensor.device),
        pinned=_pinned(tensor),
    )


def _pinned(tensor: torch.Tensor) -> bool | None:
    """Ask only while CUDA is in use: elsewhere the question could initialise it."""
    cuda: Foreign = torch.cuda
    if tensor.device.type != "cpu" or not cuda.is_initialized():
        return None
    return bool(tensor.is_pinned())


class _Seen:
    """The batches of one loader."""

    def __init__(self, newest: BatchSignature) -> None:
        self.looked = 0
        self.newest = newest
        self.shapes: set[tuple[tuple[int, ...], ...]] = set()
        self.examples: list[list[int]] = []
        self.masked = 0
        """Batches with a mask."""
        self.padding = 0.0
        """Sum of their shares of padding."""

    def add(self, signature: BatchSignature, padding: float | None) -> None:
        self.looked += 1
        self.newest = signature
        if padding is not None:
            self.masked += 1
            self.padding += padding
        if len(self.shapes) < _SHAPES_KEPT:
            self.shapes.add(tuple(tuple(tensor.shape) for tensor in signature.tensors))
        first = signature.tensors[0].shape if signature.tensors else []
        if len(self.examples) < _EXAMPLES and first not in self.examples:
            self.examples.append(first)


class BatchBook:
    """Filled by the training thread, read by the background thread.

    Args:
        index_of: gives the index of the loader that has a key (`LoaderBook.index_of`).
    """

    def __init__(self, index_of: Callable[[int], int | None]) -> None:
        self._index_of = index_of
        self._seen: dict[int, _Seen] = {}

    def look(self, key: int, batch: Foreign) -> None:
        """Look at a batch of the loader with this key. Call it for the first and every 256th."""
        index = self._index_of(key)
        if index is None:
            return
        signature = describe_batch(batch)
        seen = self._seen.get(index)
        if seen is None:
            if len(self._seen) >= LOADERS_TOLD:
                return
            seen = self._seen[index] = _Seen(signature)
        seen.add(signature, padding_of(batch))

    def read(self, index: int | None) -> tuple[BatchFacts | None, str | None]:
        """Return what the batches of a loader look like, or None with the reason.

        Args:
            index: of the training loader; None where it is not known.
        """
        seen = None if index is None else self._seen.get(index)
        if seen is None:
            return None, NOT_SEEN
        return BatchFacts(
            looked=seen.looked,
            newest=seen.newest,
            distinct_shapes=len(seen.shapes),
            examples=list(seen.examples),
            padding_share=seen.padding / seen.masked if seen.masked else None,
        ), None
