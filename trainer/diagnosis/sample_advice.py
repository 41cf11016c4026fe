"""What may make samples cheaper, by what the batches are: pictures, tokens, other numbers. Pure.

Advice that fits other data than a run's costs the trust in all the rest.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from perftui.ipc.facts import TensorFacts
from perftui.trainer.diagnosis.batch_costs import collating_timed
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals

Kind: TypeAlias = Literal["pictures", "tokens", "numbers", "unknown"]

_SIDE: Final = 8
"""Pixels, least side of a picture."""
_CHANNELS: Final = (1, 3, 4)
_INTEGERS: Final = frozenset({"int64", "int32", "int16"})
_LARGE: Final = frozenset({"float32", "float64", "int64"})
"""Types that many samples are made in and few are stored in."""
_ONCE: Final = "do once what is the same in every epoch, and store it; work on whole batches (`__getitems__`)"
_STORED: Final = {
    "pictures": "store it decoded and resized, a faster decoder, fewer or batched augmentations",
    "tokens": "store it as token ids in one array instead of text, a faster tokenizer",
    "numbers": _ONCE,
    "unknown": _ONCE,
}
FROM_TENSORS = (
    "put batches together from arrays or tensors, not from Python lists or loops (elsewhere, 64 rows of 2048 "
    "floats took 80 ms as lists and 0.3 ms as tensors)"
)


def kind_of(rank: RankSignals) -> Kind:
    """Return what the batches of a rank are, by the shapes and types of their tensors."""
    tensors = [] if rank.facts.batch is None else rank.facts.batch.newest.tensors
    if any(_is_picture(each.shape) for each in tensors):
        return "pictures"
    if any(_is_type(each, _INTEGERS) and len(each.shape) == 2 and each.shape[1] > 1 for each in tensors):
        return "tokens"
    return "numbers" if tensors else "unknown"


def _is_picture(shape: Sequence[int]) -> bool:
    """Tell whether a batch of this shape is of pictures, or of clips of them: channels first or last."""
    if len(shape) not in (4, 5):
        return False
    *_, high, wide = shape
    if shape[-3] in _CHANNELS or (len(shape) == 5 and shape[1] in _CHANNELS):
        return min(high, wide) >= _SIDE
    return shape[-1] in _CHANNELS and min(shape[-3:-1]) >= _SIDE


def cheaper_samples(rank: RankSignals, policy: Policy) -> str:
    """Advise what makes each sample cheaper; of collating only where it may be what takes the time."""
    timed = collating_timed(rank)
    little = timed is not None and timed < policy.collating / 2
    lists = "" if little else ", no Python lists or loops in collate_fn"
    stored = f"{_STORED[kind_of(rank)]}{lists}"
    return f"make each sample cheaper to prepare ({stored}), or give the job more cores"


def fewer_bytes(rank: RankSignals) -> str:
    """Advise how to copy fewer bytes into a batch, by the type and the kind of the samples."""
    kind = kind_of(rank)
    tensors = [] if rank.facts.batch is None else rank.facts.batch.newest.tensors
    said: list[str] = []
    if kind == "unknown" or any(_is_type(each, _LARGE) for each in tensors):
        small = {"pictures": "uint8", "tokens": "int32 or smaller"}.get(kind)
        stored = f"a smaller type ({small})" if small else "the type they are stored in"
        said.append(f"keep samples in {stored} and convert the batch after it is put together")
    if kind == "pictures":
        said.append("crop or resize before")
    head = f"copy fewer bytes: {', '.join(said)}; or take" if said else "take"
    return f"{head} a whole batch out of one tensor by its indices (`__getitems__`)"


def _is_type(tensor: TensorFacts, names: frozenset[str]) -> bool:
    return tensor.dtype.removeprefix("torch.") in names
