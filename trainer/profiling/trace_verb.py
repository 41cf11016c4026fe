"""`perftui trace`: the report over files from anywhere."""

import os
from collections.abc import Sequence
from pathlib import Path

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.trace_report import TraceReport
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.trace_files import trace_files


def trace_report(paths: Sequence[Path], ranks: Sequence[int] | None = None) -> TraceReport:
    """Return the report over the files and folders.

    Raises:
        UsageError: a path does not exist, or none of the ranks asked for is among the files.
        Refused: no file could be read as a trace; the message says why, of each.
    """
    report = analyse_files(trace_files(paths), ranks, processes=len(os.sched_getaffinity(0)))
    if not report.ranks:
        raise UsageError(f"--ranks {','.join(map(str, ranks or []))}: none of the files is of these ranks")
    errors = [rank.error for rank in report.ranks if rank.error is not None]
    if len(errors) == len(report.ranks):
        raise Refused("\n".join(errors))
    return report
