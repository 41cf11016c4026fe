"""What the lead hub knows of one other host; and the words for what happens to it."""

from dataclasses import dataclass, field
from typing import Literal

from perftui.ipc.host_links import HostLink, LinkState
from perftui.ipc.host_messages import HostBeat, HostHello


@dataclass
class JoinedHost:
    """Changed by `LeadSide` only. Times ending in `_s` are monotonic."""

    name: str
    peer: bytes | None = None
    """Where its hub is reached; None: nowhere at present."""
    hello: HostHello | None = None
    """None: known from the recording alone."""
    address: str | None = None
    state: LinkState = "lost"
    heard_s: float = 0.0
    last: int = 0
    """Number of the newest batch taken of this hub process."""
    joins: int = 0
    pids: dict[int, int] = field(default_factory=dict[int, int])
    """Its ranks, and the process of each."""
    beat: HostBeat | None = None

    @property
    def offset_ns(self) -> int:
        """What to add to a time of its wall clock; 0 before it is known."""
        known = self.beat.offset_ns if self.beat is not None else None
        return known or 0

    def is_process(self, hello: HostHello) -> bool:
        """Whether this is the hub process that was here before."""
        known = self.hello
        return known is not None and (known.run_id, known.hub_pid) == (hello.run_id, hello.hub_pid)

    def arrival(self, hello: HostHello) -> tuple[Literal["joined", "back", "restarted"], str]:
        """Return what it means that this host says hello, as an event and in words."""
        if self.joins == 0:
            return "joined", f"host {self.name} has joined"
        if self.is_process(hello) or self.hello is None:
            return "back", f"host {self.name} is heard again"
        if self.hello.run_id == hello.run_id:
            return "restarted", f"the hub of host {self.name} was started again"
        return "restarted", f"host {self.name} was started again"

    def link(self, now_s: float) -> HostLink:
        """Return how it stands."""
        beat = self.beat
        known = beat is not None and beat.offset_ns is not None
        return HostLink(
            host=self.name,
            state=self.state,
            age_s=max(0.0, now_s - self.heard_s),
            address=self.address,
            ranks=sorted(self.pids),
            clock_offset_ms=-self.offset_ns / 1e6 if known else None,
            clock_error_ms=_ms(beat.error_ns) if beat else None,
            round_trip_ms=_ms(beat.round_trip_ns) if beat else None,
            dropped=beat.dropped if beat else 0,
            joins=max(1, self.joins),
            exit_code=beat.exit_code if beat else None,
            run_id=self.hello.run_id if self.hello else None,
        )


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6
