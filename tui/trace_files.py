"""Reports and timelines from disk. Reading takes a while: threads do it, never the one that paints."""

import gzip
import stat
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from perftui.ipc.errors import RecordingError
from perftui.ipc.trace_report import TraceReport, TraceTimeline
from perftui.tui.renderables.timeline_index import TimelineIndex, timeline_index

_SCHEMA = 1
_MOST_BYTES = 1 << 30
"""Larger files are not ours: a report has some 100 kB, a timeline of a million spans some 40 MB."""
_Kind = TypeVar("_Kind", TraceReport, TraceTimeline)


def read_report(path: Path) -> TraceReport:
    """Read a report.

    Raises:
        RecordingError: it cannot be read, is no report, or was written by a newer perftui.
    """
    report = _decoded(path, TraceReport, "report")
    if report.schema > _SCHEMA:
        raise RecordingError(
            f"{path}: the report has schema {report.schema}, this perftui reads {_SCHEMA}; use a newer one"
        )
    return report


def read_timeline(path: Path) -> TimelineIndex:
    """Read a timeline and make it ready to be drawn.

    Raises:
        RecordingError: it cannot be read, or is no timeline.
    """
    timeline = _decoded(path, TraceTimeline, "timeline")
    try:
        return timeline_index(timeline)
    except OverflowError as error:
        raise RecordingError(f"{path}: not a timeline: {error}; record the window anew") from None


def beside(report_path: Path, named: str) -> Path:
    """Return where a file is that a report names: where it says, or next to the report if that was moved."""
    path = Path(named)
    path = path if path.is_absolute() else report_path.parent / path
    moved = report_path.parent / path.name
    return moved if not path.exists() and moved.exists() else path


def _decoded(path: Path, kind: type[_Kind], word: str) -> _Kind:
    """Read one document: JSON or MessagePack, compressed or not; its first byte tells."""
    try:
        data = _bytes(path)
        if data[:1] in (b"{", b" ", b"\n"):
            return msgspec.json.decode(data, type=kind)
        return msgspec.msgpack.decode(data, type=kind)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordingError(f"{path}: the {word} cannot be read: {reason}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, EOFError, zlib.error, RecursionError) as error:
        raise RecordingError(f"{path}: not a {word}: {error}; record the window anew") from None


def _bytes(path: Path) -> bytes:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):  # a pipe would never end
        raise OSError("not a file")
    if found.st_size > _MOST_BYTES:
        raise OSError(f"larger than {_MOST_BYTES >> 20} MiB")
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        data = gzip.GzipFile(fileobj=file).read(_MOST_BYTES + 1) if packed else file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(f"larger than {_MOST_BYTES >> 20} MiB")
    return data
