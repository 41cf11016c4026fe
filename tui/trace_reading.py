"""What threads do for a profile: read a report or a timeline, compare two windows, say what came of it."""

from pathlib import Path

from perftui.ipc.errors import PerftuiError
from perftui.ipc.trace_difference import rank_difference
from perftui.tui.messages import ReportRead, TimelineRead, WindowsCompared
from perftui.tui.report_shelf import ReportShelf
from perftui.tui.trace_files import read_timeline


def report_read(shelf: ReportShelf, path: Path) -> ReportRead:
    """Read a report."""
    try:
        return ReportRead(path, shelf.report(path))
    except PerftuiError as error:
        return ReportRead(path, None, str(error))


def timeline_read(path: Path) -> TimelineRead:
    """Read a timeline."""
    try:
        return TimelineRead(path, read_timeline(path))
    except PerftuiError as error:
        return TimelineRead(path, None, str(error))


def windows_compared(shelf: ReportShelf, before: Path, after: Path, rank: int) -> WindowsCompared:
    """Compare one rank of two windows."""
    pair = before, after, rank
    try:
        reports = shelf.report(before), shelf.report(after)
    except PerftuiError as error:
        return WindowsCompared(pair, None, str(error))
    sides = [next((row for row in report.ranks if row.rank == rank), None) for report in reports]
    if sides[0] is None or sides[1] is None:
        return WindowsCompared(pair, None, f"rank {rank} is not in both windows")
    unread = sides[0].error or sides[1].error
    if unread:
        return WindowsCompared(pair, None, unread)
    return WindowsCompared(pair, rank_difference(sides[0], sides[1]))
