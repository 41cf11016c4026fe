"""What a dashboard adds to what it has: steps of a rank, and events on the time axis."""

import msgspec


class RankHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of one rank that are new to this dashboard, as columns."""

    rank: int
    first_step: int
    stride: int
    """Steps that each point stands for: 1, or more where older history was thinned (means)."""
    wall_ms: list[float]
    wait_ms: list[float]
    flags: list[int]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """An event on the time axis."""

    unix: float
    rank: int | None
    event: str
    text: str
    step: int = -1
    duration_s: float = 0.0
    """How long it took; 0 for what is a moment."""
