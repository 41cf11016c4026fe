"""The newest profiling window that can be read, for the rules: its report and its workers' stacks."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from perftui.ipc.run_files import read_record
from perftui.ipc.trace_report import TraceReport
from perftui.ipc.view import ProfileView
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.telemetry.py_spy import MISSING


class WindowSeen(NamedTuple):
    """What a window tells beyond the steps."""

    report: TraceReport
    worker_stacks: tuple[WorkerStacks, ...] = ()
    workers_unseen: str | None = None
    """Why none could be looked into, where it was tried."""


def unseen_in(view: ProfileView) -> str | None:
    """Return why a window has no worker's stacks, where py-spy was kept from taking them."""
    refused = (note for note in view.window_notes if note.startswith("py-spy") and note != MISSING)
    return None if view.worker_stacks else next(refused, None)


class NewestWindow:
    """Keeps the report that was read last: a report does not change once it is there.

    Args:
        folder: where reports lie, if not where their view says: a recording may have been moved.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: tuple[str, TraceReport | None] = "", None

    def of(self, profiles: Sequence[ProfileView]) -> WindowSeen | None:
        """Return the newest window with a report; None where there is none, or it cannot be read."""
        done = [view for view in profiles if view.state == "done" and view.report_path is not None]
        for view in reversed(done):
            report = self._report(view.report_path or "")
            if report is not None:
                return WindowSeen(report, tuple(view.worker_stacks), unseen_in(view))
        return None

    def _report(self, path: str) -> TraceReport | None:
        if self._read[0] != path:
            found = read_record(Path(path), TraceReport)
            found = found or read_record(self._folder / Path(path).name, TraceReport)
            self._read = path, found
        return self._read[1]
