"""What the tabs of a profile are made from: all that is known of the window and the rank in view."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.trace_difference import TraceDifference
from perftui.ipc.trace_report import RankReport, TraceReport
from perftui.ipc.view import ProfileRank, ProfileView
from perftui.tui.renderables.timeline_index import TimelineIndex


@dataclass(frozen=True)
class TraceContext:
    """One window, one rank of it. What is missing is None, and `why` says why."""

    report: TraceReport | None = None
    view: ProfileView | None = None
    """The window as the hub knows it; None for a report from files."""
    rank: int | None = None
    """The rank in view; None: the first."""
    timeline: TimelineIndex | None = None
    difference: TraceDifference | None = None
    why: str = ""
    """Why there is no report."""
    why_no_timeline: str = ""
    why_no_difference: str = ""
    end_key: str = "c"
    """The key that ends a window without a result."""

    @property
    def ranks(self) -> Sequence[int]:
        """All ranks that the window has."""
        known = {row.rank for row in self.report.ranks} if self.report else set[int]()
        return sorted(known | {row.rank for row in self.view.ranks} if self.view else known)

    @property
    def each(self) -> str:
        """What the numbers of `ranks` are of: ranks, or the windows of one."""
        return "window" if self.report is not None and self.report.windows else "rank"

    @property
    def chosen(self) -> int | None:
        """The rank in view."""
        ranks = self.ranks
        return self.rank if self.rank in ranks else ranks[0] if ranks else None

    @property
    def rank_report(self) -> RankReport | None:
        """The report of the rank in view."""
        ranks = self.report.ranks if self.report else []
        return next((row for row in ranks if row.rank == self.chosen), None)

    @property
    def profile_rank(self) -> ProfileRank | None:
        """What the hub knows of the rank in view."""
        ranks = self.view.ranks if self.view else []
        return next((row for row in ranks if row.rank == self.chosen), None)

    @property
    def why_empty(self) -> str:
        """Why a table of this rank may be empty; "" when the report simply has nothing for it."""
        mine = self.rank_report
        if mine is not None:
            return mine.error or ""
        told = self.profile_rank
        if self.report is not None:
            return "this rank has no trace in the report"
        return self.why or (told.reason or "" if told is not None else "")
