"""What kernels and host spans are told apart by: colour, letter and word of each class."""

from typing import NamedTuple

from perftui.tui.format import visible


class Look(NamedTuple):
    """How a class looks."""

    role: str
    letter: str
    """Where colours cannot tell; small where the cell is mostly empty."""


CLASSES = {
    "gemm": Look("gemm", "G"),
    "conv": Look("conv", "C"),
    "attention": Look("attention", "A"),
    "norm": Look("norm", "N"),
    "elementwise": Look("elementwise", "E"),
    "reduce": Look("reduce", "R"),
    "optimizer": Look("optimizer", "O"),
    "copy": Look("h2d", "M"),
    "communication": Look("comm_exposed", "X"),
    "triton": Look("triton", "T"),
    "other": Look("other", "U"),
    "operator": Look("operator", "P"),
    "call": Look("call", "K"),
    "loader": Look("loader_wait", "L"),
    "sync": Look("sync", "Y"),
    "step": Look("track", "S"),
}
GAP_WORDS = {
    "loader": "the loader",
    "sync_call": "a sync call",
    "host_other": "other host work",
    "launch_latency": "the launch",
    "dependency": "a dependency",
}
"""What a device waited for."""


def look_of(name: str) -> Look:
    """Return how a class looks; one of a newer version looks like `other`."""
    return CLASSES.get(name, CLASSES["other"])


def gap_words(kind: str) -> str:
    """Return what was waited for, in words."""
    return GAP_WORDS.get(kind, visible(kind))
