"""All that a report stands on, as data; `perftui report --format json` writes it as it is."""

import msgspec

from perftui.ipc.ledger_records import Comparison
from perftui.ipc.summary import Summary
from perftui.ipc.trace_report import TraceReport

REPORT_SCHEMA = 1


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and what belongs to it."""

    schema: int = REPORT_SCHEMA
    made_unix: float
    made_by: str
    """perftui and its version."""
    summary: Summary
    commit: str | None = None
    """Git commit that the working directory stood at when the run began; None: not known."""
    ledger: list[Comparison] = []
    """Comparisons that this run was in, came from or led to, oldest first."""
    windows: dict[str, TraceReport] = {}
    """Analyses of profiling windows by their id, with their top rows only."""
    masked: int = 0
    """How many strings that look like secrets were taken out."""
