"""Which tensor of a batch holds tokens, if any: found at a loader's first batch, by name, type and shape.

Nothing is read but sizes, so padding counts as tokens. How much of it there is, is looked at with the rest of
a batch's shapes, seldom, and only where its mask lies in the host's memory: `padding_of`.
"""

from operator import methodcaller

import torch

from perftui.trainer.probe.batch_paths import BatchPath, find_in, parts_of, walk, way_to
from perftui.trainer.probe.border import Foreign

NAMES = ("input_ids", "decoder_input_ids", "token_ids", "tokens")
"""What token models call their input; the first that is there counts."""
_MASK = "attention_mask"
_INTEGERS = frozenset((torch.int64, torch.int32, torch.int16))
_LEAST_LENGTH = 8
"""An integer table of fewer columns, without a partner of its shape, may hold categories."""
_MASK_NUMBERS_MAX = 1 << 20
_NUMEL: BatchPath = (methodcaller("numel"),)


def find_tokens(batch: Foreign) -> BatchPath | None:
    """Return how to read the number of tokens from batches like this one; None for any other model's.

    Tokens are an integer tensor under one of their usual names, or a batch's first tensor if that is an
    integer matrix [B, T] and no other is floating-point: features, images and their labels are none.
    """
    named = find_in(batch, _named)
    if named is not None:
        return named
    first = find_in(batch, lambda thing: () if isinstance(thing, torch.Tensor) else None)
    return None if first is None or not _is_sequence(batch, walk(first, batch)) else (*first, *_NUMEL)


def _named(thing: Foreign) -> BatchPath | None:
    for name in NAMES:
        way = way_to(thing, name)
        tensor = None if way is None else _item_of(thing, name)
        if way is not None and tensor is not None and tensor.dtype in _INTEGERS and tensor.dim() > 0:
            return (*way, *_NUMEL)
    return None


def _item_of(thing: Foreign, name: str) -> torch.Tensor | None:
    """Return a tensor that a dictionary, or what wraps one, has under a name."""
    way = way_to(thing, name)
    found = None if way is None else walk(way, thing)
    return found if isinstance(found, torch.Tensor) else None


def _is_sequence(batch: Foreign, first: torch.Tensor) -> bool:
    if first.dtype not in _INTEGERS or first.dim() != 2 or first.size(1) < 2:
        return False
    others = _tensors(batch)
    place = next((place for place, tensor in enumerate(others) if tensor is first), len(others))
    del others[place : place + 1]  # once: a script may use one tensor as input and as target
    if any(tensor.is_floating_point() for tensor in others):
        return False
    partner = any(tensor.shape == first.shape and tensor.dtype in _INTEGERS for tensor in others)
    return partner or first.size(1) >= _LEAST_LENGTH


def _tensors(batch: Foreign) -> list[torch.Tensor]:
    """Return the tensors of the outer two layers of a batch."""
    found: list[torch.Tensor] = []
    for part in parts_of(batch):
        thing = walk(part, batch)
        if isinstance(thing, torch.Tensor):
            found.append(thing)
        else:
            inner = (walk(below, thing) for below in parts_of(thing))
            found += [each for each in inner if isinstance(each, torch.Tensor)]
    return found


def padding_of(batch: Foreign) -> float | None:
    """Return the share of a batch's tokens that its mask leaves out; None without a mask in host memory."""
    way = find_in(batch, lambda thing: None if _item_of(thing, _MASK) is None else ())
    mask = None if way is None else _item_of(walk(way, batch), _MASK)
    if mask is None or mask.device.type != "cpu" or not 0 < mask.numel() <= _MASK_NUMBERS_MAX:
        return None
    return 1.0 - int(mask.count_nonzero()) / mask.numel()
