"""How many batches an epoch has, as far as that is told without the script's own code.

Apart because `len` of a loader runs what the script has written: a sampler that sorts all samples to say how
many batches there are, or draws from the very random state that it shuffles by, and that in the training
thread. So only code is asked that is known to give a number it has; a data set is asked by torch itself.
"""

from typing import Final

from perftui.trainer.probe.border import Foreign

_KNOWN: Final = frozenset(
    {
        "builtins", "numpy", "torch", "torchdata", "accelerate", "transformers", "fastai", "lightning",
        "lightning_fabric", "pytorch_lightning", "timm", "ultralytics",
    }
)  # fmt: skip
"""Packages whose loaders and samplers say their length without making it."""
_INNER: Final = ("batch_sampler", "sampler", "_batch_sampler", "_sampler")
_DEPTH: Final = 8


def epoch_length(loader: Foreign) -> int | None:
    """Return how many batches an epoch of a loader has; None where only the script's own code could tell."""
    if not _is_known(loader) or not all(map(_is_known, _samplers(loader))):
        return None
    try:
        return len(loader)
    except Exception:  # noqa: BLE001 - of a data set it is the script's own code after all
        return None


def _samplers(loader: Foreign) -> list[Foreign]:
    """Return what a loader's length is made of, from the outside inwards, up to the first that is unknown."""
    found: list[Foreign] = []
    inner = getattr(loader, "_index_sampler", None)
    while inner is not None and len(found) < _DEPTH:
        found.append(inner)
        if not _is_known(inner):
            break
        inner = next(
            (one for one in (getattr(inner, name, None) for name in _INNER) if one is not None), None
        )
    return found


def _is_known(thing: Foreign) -> bool:
    """Tell whether the length of something may be asked; what has none runs no code either."""
    kind: Foreign = type(thing)
    length = getattr(kind, "__len__", None)
    if length is None:
        return True
    owner = getattr(length, "__objclass__", length)  # a built-in type's
    return str(getattr(owner, "__module__", "")).partition(".")[0] in _KNOWN
