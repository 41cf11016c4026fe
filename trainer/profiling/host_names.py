"""What the name of a host span tells: step, loader, optimizer, compilation, frame of a Python function."""

import re
from functools import lru_cache

from perftui.ipc.own_files import is_ours

LOADER_PREFIX = "enumerate(DataLoader)"
"""What torch names the span around a DataLoader iterator's `__next__` in the training thread."""

_STEP = re.compile(r"^ProfilerStep\s*#\s*(\d+)")
_OPTIMIZER = re.compile(r"^Optimizer\.step#")
_COMPILED = re.compile(r"^Torch-Compiled Region|^CompiledFunction(Backward)?$|^## Call CompiledFxGraph")
_OPERATOR = re.compile(
    r"^(?!(?:autograd|torch|profiler|\w*c10d\w*|nccl|gloo)::)[A-Za-z_]\w*::[A-Za-z_]",
)
_VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "alias", "as_strided", "chunk", "detach", "diagonal", "empty", "empty_like", "empty_strided",
        "expand", "expand_as", "flatten", "movedim", "narrow", "permute", "reshape", "resize_", "select",
        "slice", "split", "split_with_sizes", "squeeze", "swapaxes", "t", "tensor_split", "to", "transpose",
        "unbind", "unflatten", "unflatten_dense_tensors", "unfold", "unsafe_chunk", "unsafe_split",
        "unsqueeze", "view", "view_as",
    )
)  # fmt: skip
"""Operators that touch no numbers: unbind of thousands of rows takes milliseconds all the same. Where one of
them copies, that is an operator of its own."""
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


@lru_cache(maxsize=16384)
def is_operator(name: str) -> bool:
    """Return whether a span is an operator: no engine around one, no exchange between ranks."""
    return _OPERATOR.match(name) is not None


def computes(name: str) -> bool:
    """Return whether a span is an operator that touches numbers."""
    return is_operator(name) and name not in _VIEWS


@lru_cache(maxsize=16384)
def issues(name: str) -> bool:
    """Return whether a span is of torch's own machinery that issues work; marks of the script's are none."""
    if "::" in name or name.startswith("Optimizer."):
        return True
    return is_loader(name) or is_compiled(name) or is_compiling(name)


@lru_cache(maxsize=65536)
def frame_place(name: str) -> str | None:
    """Return `file:line function` of a frame; None for built-ins and modules, and for our own frames."""
    found = _FRAME.match(name)
    return (
        None
        if found is None or is_ours(found["file"])
        else f"{found['file']}:{found['line']} {found['function']}"
    )


@lru_cache(maxsize=65536)
def frame_file(name: str) -> str | None:
    """Return the file of a frame; None for built-ins and modules."""
    found = _FRAME.match(name)
    return None if found is None else found["file"]
