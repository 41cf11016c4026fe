"""How late each rank was over a stretch of steps, in blocks of steps and bands of ranks.

Made by the hub when a dashboard asks (`RanksQuery`): it keeps the steps, and it alone does statistics.
"""

from typing import Literal, TypeAlias

import msgspec

RankMeasure: TypeAlias = Literal["wait", "before", "step"]
"""wait: for the loader. before: what a rank did before the exchange, which is the step without its backward,
in which ranks wait for each other, and without the optimizer's step. step: all of it."""
BANDS_MAX = 128


class RankBand(msgspec.Struct, frozen=True, kw_only=True):
    """One rank, or neighbouring ranks of which in each block the latest counts; one entry a block."""

    first_rank: int
    last_rank: int
    excess_ms: list[float | None]
    """Mean over the block's steps of how much longer it took than the median rank did in the same step; of an
    even number of ranks the lower of the two in the middle."""
    excess_share: list[float | None]
    """Over the median rank's whole step."""
    rank: list[int]
    """Whose it is; -1 where there is none."""
    worst_rank: int
    """The latest of the band over the whole stretch."""
    mean_share: float | None
    """Its excess over the whole stretch."""


class RankMap(msgspec.Struct, frozen=True, kw_only=True):
    """Steps `first_step` to `last_step`; blocks are aligned to the step number."""

    measure: RankMeasure
    first_step: int
    last_step: int
    newest_step: int
    """That all ranks have done."""
    exact_from: int
    """Before this step, steps are not kept one by one on every rank, and ranks cannot be compared."""
    block_steps: int
    looked_steps: int
    """So many of a block's steps were looked at, the same on all ranks; where ranks are many not all."""
    ranks: int
    bands: list[RankBand]
    median_ms: list[float | None]
    """The median rank's whole step, mean over the block."""
