"""What readers report as having happened, before it is known in which step."""

from typing import NamedTuple

from perftui.ipc.messages import EventKind


class Happening(NamedTuple):
    """Becomes a `RankEvent`. Times in ns of `perf_counter`."""

    at_ns: int
    kind: EventKind
    text: str
    duration_ns: int = 0
