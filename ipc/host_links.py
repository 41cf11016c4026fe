"""The hosts of a run as its lead hub sees them: who has joined, who is not heard, whose clock differs."""

from typing import Literal, TypeAlias

import msgspec

LinkState: TypeAlias = Literal["lead", "joined", "lost", "left"]
"""lead: the hub that tells this runs there. lost: nothing is heard, its training may well go on. left: its
part of the run has ended."""


class HostEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened between the lead hub and the hub of another host."""

    unix: float
    host: str
    event: Literal["joined", "lost", "back", "left", "restarted"]
    text: str


class HostLink(msgspec.Struct, frozen=True, kw_only=True):
    """One host of a run that has several."""

    host: str
    state: LinkState
    age_s: float
    """Since its hub was last heard."""
    address: str | None = None
    """From where it came; None for the lead."""
    ranks: list[int] = []
    clock_offset_ms: float | None = None
    """Its wall clock less the lead's; None: not measured yet."""
    clock_error_ms: float | None = None
    """By how much the offset may be wrong: half the shortest round trip, and what clocks drift since."""
    round_trip_ms: float | None = None
    """The shortest of late."""
    dropped: int = 0
    """Entries that its hub had to drop while the link was away or slow, oldest first."""
    joins: int = 1
    """How often it has joined: a link that was cut comes back, and so does a hub that was restarted."""
    exit_code: int | None = None
    """Of its part of the run."""
    run_id: str | None = None
    """Its own run, by which a dashboard on that host finds it."""
