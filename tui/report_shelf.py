"""The windows that were seen and the reports that were read, so that two of them can be compared.

It outlives the profile screen and the run: after a relaunch, a window of the new run is compared with one of
the old.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from perftui.ipc.trace_report import TraceReport
from perftui.ipc.view import ProfileView
from perftui.tui.trace_files import read_report

_READ_MAX = 6
_WINDOWS_MAX = 40


@dataclass(frozen=True)
class WindowRef:
    """A window that has a report."""

    name: str
    """As a person knows it: `window w1` or a file's name."""
    path: Path
    """Of the report."""


class ReportShelf:
    """Keeps the newest reports read; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: OrderedDict[Path, TraceReport] = OrderedDict()
        self._windows: OrderedDict[Path, WindowRef] = OrderedDict()
        self._marked: Path | None = None

    def note(self, profiles: Sequence[ProfileView]) -> None:
        """Remember the windows of a run that have a report."""
        for view in profiles:
            path = report_path_of(view)
            if path is not None:
                self.add(WindowRef(f"window {view.window_id}", path))

    def add(self, window: WindowRef) -> None:
        """Remember a window."""
        with self._lock:
            if window.path not in self._windows:
                self._windows[window.path] = window
                while len(self._windows) > _WINDOWS_MAX:
                    oldest = next(path for path in self._windows if path != self._marked)
                    del self._windows[oldest]

    def mark(self, path: Path) -> None:
        """Compare later windows with this one."""
        with self._lock:
            self._marked = path

    def before(self, path: Path) -> WindowRef | None:
        """Return what a window is compared with: the marked one, else the one before it."""
        with self._lock:
            paths = list(self._windows)
            if self._marked is not None and self._marked in self._windows and self._marked != path:
                return self._windows[self._marked]
            at = paths.index(path) if path in paths else 0
            return self._windows[paths[at - 1]] if at > 0 else None

    def report(self, path: Path) -> TraceReport:
        """Return a report, read from disk if need be.

        Raises:
            RecordingError: it cannot be read.
        """
        with self._lock:
            if path in self._read:
                self._read.move_to_end(path)
                return self._read[path]
        report = read_report(path)
        with self._lock:
            self._read[path] = report
            while len(self._read) > _READ_MAX:
                self._read.popitem(last=False)
        return report


def report_path_of(view: ProfileView | None) -> Path | None:
    """Return where the report of a window is; None while there is none."""
    return Path(view.report_path) if view is not None and view.report_path else None
