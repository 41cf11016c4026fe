"""Where loader workers were while a profiling window recorded: their stacks, sampled from outside and folded.

A worker is a process of its own, so that nothing of it is in the rank's trace.
"""

import msgspec


class WorkerFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One function that was on a worker's stack."""

    function: str
    file: str
    line: int
    """The line in it that was seen most often."""
    self_share: float
    """Share of the samples (0-1) in which it was innermost."""
    total_share: float
    """Share of the samples in which it was on the stack."""


class WorkerStacks(msgspec.Struct, frozen=True, kw_only=True):
    """One loader worker over the seconds of a window; its main thread only."""

    rank: int
    pid: int
    number: int | None
    """Its number among the rank's workers, where the rank tells it."""
    samples: int
    """Looks that found a stack; 0: none did, and the window's notes say why."""
    active_share: float | None = None
    """Share of the samples in which it was on a core."""
    frames: list[WorkerFrame] = []
    """By self share, then total share; at most 40."""
