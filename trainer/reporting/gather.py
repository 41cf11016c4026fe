"""Gathers what a report stands on: the hub's summary or the files of an ended run, ledger, traces, git."""

import contextlib
import importlib.metadata
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perftui.ipc.errors import RecordingError, Refused
from perftui.ipc.ledger_records import Comparison
from perftui.ipc.places import RunPlaces, ledger_path, run_places
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.run_lines import RunLine
from perftui.ipc.summary import Summary
from perftui.ipc.trace_report import RankReport, TraceReport
from perftui.trainer.launch.live import summary_of
from perftui.trainer.launch.replay import summary_of_recording
from perftui.trainer.reporting.redaction import redacted
from perftui.trainer.reporting.run_report import RunReport
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.provenance import commit_then

_ROWS = 10


def gather(line: RunLine) -> RunReport:
    """Return the report of a run as it stands, or as it ended.

    Raises:
        Refused: its summary was written by a perftui that this one does not understand, or the ledger was.
        ConnectionLost: its hub is silent and it left no summary.
    """
    places = run_places(line.run_id)
    summary = _summary(line, places)
    description = read_record(places.description, RunDescription)
    started = summary.started_unix or line.started
    return redacted(
        RunReport(
            made_unix=time.time(),
            made_by=f"perftui {importlib.metadata.version('perftui')}",
            summary=msgspec.structs.replace(summary, started_unix=started),
            commit=commit_then(Path(description.cwd), started) if description and description.cwd else None,
            ledger=concerning(line.run_id, _whole_ledger()),
            windows=_windows(summary, places),
        )
    )


def _summary(line: RunLine, places: RunPlaces) -> Summary:
    try:
        summary = msgspec.json.decode(summary_of(line), type=Summary)
        if summary.ranks or line.running or not any(places.recording.glob("*.rec")):
            return summary
        with contextlib.suppress(RecordingError):  # nothing in it, or torn: what the keeper knew must do
            return msgspec.convert(summary_of_recording(places.state), Summary)
    except msgspec.ValidationError as error:
        raise Refused(
            f"the summary of {line.run_id} is of another version of perftui ({error}); report it by that one"
        ) from error
    return summary


def _whole_ledger() -> list[Comparison]:
    if not ledger_path().exists():
        return []
    with open_ledger(ledger_path()) as ledger:
        return ledger.newest()


def concerning(run_id: str, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that a run was in, came from or led to, oldest first.

    Where it came from by several relaunches in turn, those of its ancestors are among them.
    """
    line = {run_id}
    newest_first = sorted(comparisons, key=lambda each: -each.unix)
    for each in newest_first:
        if each.successor in line and each.parent:
            line.add(each.parent)
    return [
        each
        for each in reversed(newest_first)
        if each.successor in line or each.parent == run_id or run_id in {one.run_id for one in each.launches}
    ]


def _windows(summary: Summary, places: RunPlaces) -> dict[str, TraceReport]:
    found: dict[str, TraceReport] = {}
    for profile in summary.profiles:
        if profile.report_path is None:
            continue
        path = places.profiles / Path(profile.report_path).name  # only what lies in the run's own folder
        report = read_record(path, TraceReport)
        if report is not None:
            found[profile.window_id] = msgspec.structs.replace(report, ranks=[*map(_top, report.ranks)])
    return found


def _top(rank: RankReport) -> RankReport:
    """Return a rank's analysis with its top rows, and without what only a screen of its own can show."""
    return msgspec.structs.replace(
        rank,
        path=Path(rank.path).name,
        gaps=rank.gaps[:_ROWS],
        kernels=rank.kernels[:_ROWS],
        operators=rank.operators[:_ROWS],
        syncs=rank.syncs[:_ROWS],
        timeline_path=None,
    )
