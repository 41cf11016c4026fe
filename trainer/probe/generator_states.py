"""Checksums of random generators: a state is read, nothing is drawn, seeded or altered."""

import random
import sys
import zlib
from collections.abc import Mapping
from itertools import count

import torch

from perftui.trainer.probe.border import Foreign

_NUMPYS = ("Generator", "RandomState")


def kind_of(value: Foreign) -> str | None:
    """Return what kind of generator something is; None: it is none that keeps a state of its own."""
    kind: type[Foreign] = type(value)
    if kind is random.Random:
        return "random.Random"
    if kind is torch.Generator:
        return "torch.Generator"
    numpy: dict[str, Foreign] = vars(sys.modules.get("numpy.random", random))
    return next((f"numpy.{name}" for name in _NUMPYS if kind is numpy.get(name)), None)


def state_of(value: Foreign) -> int | None:
    """Return a checksum of the state of a generator; None where it cannot be read from here.

    One of a GPU is not asked: that would start the GPU's runtime, which a forked worker must not.
    """
    kind = kind_of(value)
    if kind == "random.Random":
        return _checksum(value.getstate())
    if kind == "torch.Generator":
        return zlib.crc32(bytes(value.get_state().numpy())) if value.device.type == "cpu" else None
    bits: Foreign = (
        value._bit_generator if kind == "numpy.RandomState" else getattr(value, "bit_generator", None)
    )
    if not type(bits).__module__.startswith("numpy."):
        return None
    return _checksum(bits.state if kind == "numpy.Generator" else value.get_state(legacy=False))


def state_of_random() -> int:
    """Return the checksum of Python's global generator."""
    return _checksum(random.getstate())


def state_of_numpy() -> int | None:
    """Return the checksum of NumPy's global generator; None: NumPy's random numbers are not imported."""
    numpy: Foreign = sys.modules.get("numpy.random")
    return None if numpy is None else _checksum(numpy.get_state(legacy=False))


def _checksum(state: Foreign) -> int:
    """Return that of numbers, words and arrays, however they are nested."""
    sum_, waiting = 0, [state]
    for at in count():
        if at == len(waiting):
            return sum_
        part = waiting[at]
        if isinstance(part, Mapping):
            waiting += [each for item in part.items() for each in item]
        elif isinstance(part, tuple) and any(isinstance(each, tuple) for each in part):
            waiting += part
        else:
            plain = part.tobytes() if hasattr(part, "tobytes") else repr(part).encode()
            sum_ = zlib.crc32(plain, sum_)
    return sum_
