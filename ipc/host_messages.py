"""What the hubs of one run say to each other: a hub on each host, one of them the lead.

Telemetry goes to the lead in numbered batches, which are kept until the lead says that it has them; orders
come back. A beat twice a second tells that the hub lives, and measures how far the two clocks are apart.
"""

from typing import TypeAlias

import msgspec

from perftui.ipc.messages import ToRank
from perftui.ipc.recording import Entry
from perftui.ipc.worker_stacks import WorkerStacks


class _Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    pass


class HostHello(_Frame, frozen=True, kw_only=True, tag="host_hello"):
    """The hub of another host joins the run, or joins it again."""

    protocol: int
    host: str
    run_id: str
    """Its own run on that host."""
    hub_pid: int
    ranks: list[tuple[int, int]] = []
    """(rank, pid) of the ranks that it hears."""


class HostBatch(_Frame, frozen=True, kw_only=True, tag="host_batch"):
    """What that hub has heard and read, oldest first."""

    number: int
    """Counts the batches of one hub process from 1."""
    entries: list[Entry]
    dropped: int = 0
    """Entries dropped so far."""


class HostBeat(_Frame, frozen=True, kw_only=True, tag="host_beat"):
    """Twice a second: this hub lives, and this is how its ranks stand."""

    sent_ns: int
    """Unix time of its host, in ns."""
    gone: list[int] = []
    """Ranks whose process has disappeared without a goodbye."""
    offset_ns: int | None = None
    """The lead's wall clock less its own, as it has measured it."""
    error_ns: int | None = None
    round_trip_ns: int | None = None
    left: bool = False
    """Its part of the run has ended, and all that it had to tell was told."""
    exit_code: int | None = None
    dropped: int = 0


class TracePart(_Frame, frozen=True, kw_only=True, tag="trace_part"):
    """A piece of a trace file, as it was asked for."""

    window_id: str
    rank: int
    offset: int
    total: int
    """Bytes of the whole file."""
    data: bytes
    missing: str | None = None
    """Why there is none."""


class HostStacks(_Frame, frozen=True, kw_only=True, tag="host_stacks"):
    """Where that host's loader workers were in the seconds of a window."""

    window_id: str
    stacks: list[WorkerStacks]
    notes: list[str] = []


FromHost: TypeAlias = HostHello | HostBatch | HostBeat | TracePart | HostStacks


class HostWelcome(_Frame, frozen=True, kw_only=True, tag="host_welcome"):
    """The lead has taken this hub in."""

    protocol: int
    run_id: str
    """The run as a whole, which is the lead's."""
    hub_pid: int
    name: str
    """Under which the host is shown: its own, unless another host bears it."""
    last: int = 0
    """Number of the newest batch that the lead has of this hub process."""


class AskHostHello(_Frame, frozen=True, kw_only=True, tag="ask_host_hello"):
    """The lead does not know who speaks: say hello."""


class LeadBeat(_Frame, frozen=True, kw_only=True, tag="lead_beat"):
    """Answers a beat at once."""

    asked_ns: int
    """`HostBeat.sent_ns`."""
    received_ns: int
    """Unix time of the lead's host when the beat came."""
    sent_ns: int
    """And when this answer left."""
    last: int = 0
    """As in the welcome: batches up to here need not be kept."""


class ForRank(_Frame, frozen=True, kw_only=True, tag="for_rank"):
    """An order for a rank of that host; its folder is replaced by that host's own."""

    rank: int
    order: ToRank


class AskTrace(_Frame, frozen=True, kw_only=True, tag="ask_trace"):
    """Send the next piece of the trace that a rank has written in a window."""

    window_id: str
    rank: int
    offset: int


class StopHost(_Frame, frozen=True, kw_only=True, tag="stop_host"):
    """Stop that host's part of the training by the ladder."""

    stopped_by: str


ToHost: TypeAlias = HostWelcome | AskHostHello | LeadBeat | ForRank | AskTrace | StopHost
