"""An event on the time axis of a run: an epoch, a checkpoint, a compilation."""

import msgspec


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """An event on the time axis."""

    unix: float
    rank: int | None
    event: str
    text: str
    step: int = -1
    duration_s: float = 0.0
    """How long it took; 0 for what is a moment."""
