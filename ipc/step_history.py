"""How long a rank's steps took over a stretch of the run, in as many blocks as a picture has room for.

Made by the hub when a dashboard asks (`StepsQuery`): it keeps the steps, and it alone does statistics.
"""

from typing import Literal

import msgspec

from perftui.ipc.view import StepStats

BLOCKS_MAX = 400
BINS = 48


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over the blocks of a `StepHistory`: the mean in each, None where there is none."""

    name: str
    """A phase of the step, as the field of `Shares`; or a figure of the GPU, of the host, of the workers."""
    of: Literal["step", "gpu", "host", "workers"]
    unit: Literal["ms", "share", "cores", "MiB", "W"]
    values: list[float | None] = []
    missing: str = ""
    """Why it has no value at all."""


class WorkerLane(msgspec.Struct, frozen=True, kw_only=True):
    """What one loader worker delivered, over the blocks of a `StepHistory`."""

    worker: int
    """Its number in its loader."""
    batches: list[int]
    """Steps of the block whose last batch it made."""
    wait_ms: list[float | None]
    """Mean wait of the training for these; None: it made none, or the wait was not measured."""


class StepHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Steps `first_step` to `last_step` of one rank. Columns have one entry a block; None: no step is known.

    Blocks are aligned to the step number, so that a picture that follows the run does not flicker.
    """

    rank: int
    first_step: int
    last_step: int
    newest_step: int
    """Of the run so far: beyond `last_step` where an older stretch was asked for."""
    block_steps: int
    """Steps of a block; the first and the last block may hold fewer."""
    exact_from: int
    """From this step on steps are kept one by one. Blocks before it have `mean_ms`, and no `p50_ms`."""
    p50_ms: list[float | None]
    p99_ms: list[float | None]
    mean_ms: list[float | None]
    slowest_ms: list[float | None]
    """Of older blocks the slowest mean of the points that history was thinned to."""
    wait_ms: list[float | None]
    """Mean wait for the loader."""
    stats: StepStats | None = None
    """Over the stretch's steps that are kept one by one."""
    stats_steps: int = 0
    """How many these are."""
    bins: list[int] = []
    """How many of them took how long, in bins of equal width from `bins_from_ms` to `bins_to_ms`."""
    bins_from_ms: float = 0.0
    bins_to_ms: float = 0.0
    above: int = 0
    """How many took longer than the last bin."""
    lanes: list[Lane] = []
    workers: list[WorkerLane] = []
    """By number, at most 64; of the steps that are kept one by one."""
    why_no_workers: str = ""
    """Why there are none."""
