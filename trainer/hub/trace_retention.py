"""Keeps the traces of a run within bounds on the disk: those of the newest windows; what was found stays."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

WINDOWS_KEPT = 20
BYTES_KEPT = 2 * 1024**3
_FILE = re.compile(r"rank\d+_step\d+_n\d+_(?P<window>[^.]+)\.(pt\.trace\.json\.gz|memory\.pickle)$")
_TIMELINE = re.compile(r"(?P<window>[^.]+)\.rank\d+\.timeline$")
_UNFINISHED = re.compile(r"rank\d+_step\d+_n\d+_(?P<window>[^.]+)\..*tmp$")


class TraceFile(NamedTuple):
    """A file of a window."""

    path: Path
    window_id: str
    size: int
    unix: float


def trace_files(folder: Path) -> list[TraceFile]:
    """Return the traces, snapshots and timelines in a folder; none where it cannot be read."""
    found: list[TraceFile] = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            match = _FILE.match(path.name) or _TIMELINE.match(path.name)
            if match is not None:
                status = path.stat()
                found.append(TraceFile(path, match["window"], status.st_size, status.st_mtime))
    return found


def too_many(
    files: Iterable[TraceFile], windows_kept: int = WINDOWS_KEPT, bytes_kept: int = BYTES_KEPT
) -> dict[str, list[Path]]:
    """Return the files to delete by window: whole windows, oldest first; the newest always stays. Pure.

    A window is as old as the oldest of its files: a timeline may be made anew long after the trace.
    """
    windows: dict[str, list[TraceFile]] = {}
    for file in files:
        windows.setdefault(file.window_id, []).append(file)
    newest_first = sorted(windows, key=lambda name: min(file.unix for file in windows[name]), reverse=True)
    total, excess = 0, {}
    for place, name in enumerate(newest_first):
        total += sum(file.size for file in windows[name])
        if place and (place >= windows_kept or total > bytes_kept):
            excess[name] = [file.path for file in windows[name]]
    return excess


def prune(folder: Path) -> None:
    """Delete what is too many; what cannot be deleted stays."""
    for paths in too_many(trace_files(folder)).values():
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink()


def clear_unfinished(folder: Path, window_id: str) -> None:
    """Delete what a killed rank had begun to write for this window."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            match = _UNFINISHED.match(path.name)
            if match is not None and match["window"] == window_id:
                path.unlink()
