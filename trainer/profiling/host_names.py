"""What the name of a host span tells: step, loader, optimizer, compilation, frame of a Python function."""

import re
from functools import lru_cache

LOADER_PREFIX = "enumerate(DataLoader)"
"""What torch names the span around a DataLoader iterator's `__next__` in the training thread."""

_STEP = re.compile(r"^ProfilerStep\s*#\s*(\d+)")
_OPTIMIZER = re.compile(r"^Optimizer\.step#")
_COMPILED = re.compile(r"^Torch-Compiled Region|^CompiledFunction(Backward)?$|^## Call CompiledFxGraph")
_FRAME = re.compile(r"^(?P<file>.+\.py)\((?P<line>\d+)\): (?P<function>.+)$")


def step_number(name: str) -> int | None:
    """Return which step a span marks; None if it marks none."""
    found = _STEP.match(name)
    return None if found is None else int(found[1])


def is_loader(name: str) -> bool:
    """Return whether a span is a fetch from a DataLoader."""
    return name.startswith(LOADER_PREFIX)


def is_optimizer(name: str) -> bool:
    """Return whether a span is an optimizer's step."""
    return _OPTIMIZER.match(name) is not None


@lru_cache(maxsize=16384)
def is_compiling(name: str) -> bool:
    """Return whether a span is torch.compile at work."""
    return name.endswith("(dynamo_timed)")


@lru_cache(maxsize=16384)
def is_compiled(name: str) -> bool:
    """Return whether a span runs what torch.compile made."""
    return _COMPILED.match(name) is not None


@lru_cache(maxsize=65536)
def frame_place(name: str) -> str | None:
    """Return `file:line function` of a frame; None for built-ins and modules."""
    found = _FRAME.match(name)
    return None if found is None else f"{found['file']}:{found['line']} {found['function']}"


@lru_cache(maxsize=65536)
def frame_file(name: str) -> str | None:
    """Return the file of a frame; None for built-ins and modules."""
    found = _FRAME.match(name)
    return None if found is None else found["file"]
