"""What the analysis worker answers. Apart from it, so that the hub reads the answer without numpy."""

import msgspec

from perftui.ipc.view import ProfileRank


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The worker's answer."""

    ranks: list[ProfileRank]
    """One for each trace, in the order asked for; state `failed` with a reason where it cannot be read."""
    sentence: str
    notes: list[str] = []
    """What limits the figures."""
    report_path: str | None = None
    """A `TraceReport`."""
