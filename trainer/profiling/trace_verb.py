"""`perftui trace`: the report over files from anywhere."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.trace_report import TraceReport, TraceTimeline
from perftui.trainer.profiling.analysis import KeepTimeline, analyse_files
from perftui.trainer.profiling.trace_files import trace_files


def trace_report(
    paths: Sequence[Path],
    ranks: Sequence[int] | None = None,
    keep_timeline: KeepTimeline | None = None,
) -> TraceReport:
    """Return the report over the files and folders.

    Raises:
        UsageError: a path does not exist, or none of the ranks asked for is among the files.
        Refused: no file could be read as a trace; the message says why, of each.
    """
    report = analyse_files(trace_files(paths), ranks, keep_timeline, processes=len(os.sched_getaffinity(0)))
    if not report.ranks:
        raise UsageError(f"--ranks {','.join(map(str, ranks or []))}: none of the files is of these ranks")
    errors = [rank.error for rank in report.ranks if rank.error is not None]
    if len(errors) == len(report.ranks):
        raise Refused("\n".join(errors))
    return report


@contextlib.contextmanager
def reports_on_disk(
    paths: Sequence[Path], ranks: Sequence[int] | None, before: Path | None, say: Callable[[str], None]
) -> Iterator[list[tuple[Path, str]]]:
    """Write the reports of a trace, and of one to compare it with, into a folder that goes with the body.

    Yields:
        For each of them its path, with the timelines beside it, and what a person knows it as.

    Raises:
        UsageError, Refused: as `trace_report`.
    """
    with tempfile.TemporaryDirectory(prefix="perftui-trace-") as folder:
        found: list[tuple[Path, str]] = []
        for files in (paths, [before] if before is not None else []):
            if files:
                label = files[0].name or str(files[0])
                label += f" and {len(files) - 1} more" if len(files) > 1 else ""
                say(f"reading {label} …")
                place = Path(folder) / str(len(found))
                place.mkdir()
                found.append((_written(files, ranks, place), label))
        yield found


def _written(paths: Sequence[Path], ranks: Sequence[int] | None, folder: Path) -> Path:
    def keep(place: int, timeline: TraceTimeline) -> str:
        name = f"timeline{place}.json"
        (folder / name).write_bytes(msgspec.json.encode(timeline))
        return name

    path = folder / "report.json"
    path.write_bytes(msgspec.json.encode(trace_report(paths, ranks, keep)))
    return path
