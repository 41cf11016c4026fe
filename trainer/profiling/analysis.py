"""The analysis of one window over its ranks: reads the traces one after another, then compares the ranks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from perftui.ipc.errors import RecordingError
from perftui.ipc.trace_report import RankReport, TraceReport, TraceTimeline
from perftui.trainer.profiling.collective_calls import CollectiveCall, collective_calls
from perftui.trainer.profiling.frame_files import installed_here, known_by_name
from perftui.trainer.profiling.rank_report import rank_report, told
from perftui.trainer.profiling.rank_waits import Waits, rank_waits, straggler
from perftui.trainer.profiling.sentence import rank_sentence, report_sentence
from perftui.trainer.profiling.subject import prepare
from perftui.trainer.profiling.timeline import timeline
from perftui.trainer.profiling.trace_files import as_windows, named_rank, ranks_of
from perftui.trainer.profiling.trace_reader import read_trace, uncollected
from perftui.trainer.profiling.undistorted import with_distortion

_NAMES_TOLD = 3
_APART = "the traces end with different steps: collectives are compared by torch's own numbers alone"

_NO_END = frozenset({"truncated", "graphs_on_rocm"})
"""Checks that fail where collectives of the window's end may be missing."""

KeepTimeline = Callable[[int, TraceTimeline], str | None]
"""Takes a rank's timeline; returns where it was put."""


@dataclass(frozen=True)
class RankResult:
    """What one trace gave."""

    report: RankReport
    told_rank: int | None = None
    world_size: int | None = None
    one_group: bool = False
    """All ranks are in every collective, also where the trace names no group."""
    calls: list[CollectiveCall] = field(default_factory=list)


def analyse_trace(
    path: Path,
    rank: int,
    keep_timeline: KeepTimeline | None = None,
    processes: int = 1,
    installed: Callable[[str], bool] = known_by_name,
) -> RankResult:
    """Read and analyse one trace; one that cannot be read gives a report with the reason."""
    try:
        trace = read_trace(path, processes)
    except RecordingError as error:
        return RankResult(RankReport(rank=rank, path=str(path), error=str(error)))
    with uncollected():
        subject = prepare(trace, installed)
        report = rank_report(subject, rank, str(path))
    if keep_timeline is not None:
        kept = keep_timeline(rank, timeline(subject, report.steps))
        report = msgspec.structs.replace(report, timeline_path=kept)
    return RankResult(
        report,
        told(trace.head, "rank"),
        told(trace.head, "world_size"),
        told(trace.head, "pg_count") == 1 or told(trace.head, "world_size") == 2,
        collective_calls(subject),
    )


def analyse_ranks(
    traces: Sequence[tuple[int, Path]],
    keep_timeline: KeepTimeline | None = None,
    step_ms_before: Mapping[int, float] | None = None,
) -> TraceReport:
    """Analyse the traces of one window, given as (rank, file); a bad file spoils its own rank only.

    The training has the packages that this interpreter has, as a rule: files of theirs are not the user's.

    Args:
        traces: of the ranks.
        keep_timeline: what to do with timelines.
        step_ms_before: by rank, the step time without the profiler, as far as it is known.
    """
    results = [analyse_trace(path, rank, keep_timeline, installed=installed_here) for rank, path in traces]
    return compared([_beside(result, step_ms_before or {}) for result in results])


def _beside(result: RankResult, step_ms_before: Mapping[int, float]) -> RankResult:
    report = with_distortion(result.report, step_ms_before.get(result.report.rank))
    return replace(result, report=msgspec.structs.replace(report, sentence=rank_sentence(report)))


def analyse_files(
    paths: Sequence[Path],
    ranks: Sequence[int] | None = None,
    keep_timeline: KeepTimeline | None = None,
    processes: int = 1,
) -> TraceReport:
    """Analyse files from anywhere, each a rank; of several only the ranks asked for are kept.

    The rank is what the trace tells, else what the file's name tells, else a number that is left; timelines
    are kept under the place. Several windows of one rank are numbered by place, and not compared.
    """
    results = [
        analyse_trace(path, place, keep_timeline, processes=processes) for place, path in enumerate(paths)
    ]
    whose, note = ranks_of(
        [result.told_rank for result in results],
        [named_rank(path) for path in paths],
        [result.report.error is None for result in results],
    )
    kept = [
        (rank, result) for rank, result in zip(whose, results, strict=True) if ranks is None or rank in ranks
    ]
    windows = as_windows([rank for rank, _ in kept])
    numbered = [
        replace(result, report=msgspec.structs.replace(result.report, rank=place if windows else rank))
        for place, (rank, result) in enumerate(kept)
    ]
    notes = [one for one in (note, windows) if one is not None]
    return compared(sorted(numbered, key=lambda result: result.report.rank), notes, as_ranks=windows is None)


def compared(
    results: Sequence[RankResult], notes: Sequence[str] = (), *, as_ranks: bool = True
) -> TraceReport:
    """Return the report over traces that were analysed. Pure.

    Args:
        results: of the traces.
        notes: that come first.
        as_ranks: False for windows of one rank, whose collectives are not the same ones.
    """
    waits, doubts = _waits(results) if as_ranks else (Waits(), [])
    reports = [_with_waits(result.report, waits) for result in results]
    readable = [report for report in reports if report.error is None]
    window_us = sum(report.window_ms or 0.0 for report in readable) * 1000 / max(1, len(readable))
    exposed = {report.rank: report.gpu.comm_exposed if report.gpu else None for report in readable}
    found = None if _doubted(readable, "waits") else straggler(waits.ranks, window_us, exposed)
    late, waited_share = found or (None, None)
    several = len(reports) > 1
    return TraceReport(
        sentence=report_sentence(reports, late, waited_share, "Rank" if as_ranks else "Window"),
        ranks=reports,
        windows=not as_ranks,
        waits=waits.ranks,
        straggler=late,
        notes=[
            *notes,
            *doubts,
            *(
                f"{'rank' if as_ranks else 'window'} {report.rank}: {note}" if several else note
                for report in reports
                for note in ([report.error] if report.error else report.notes)
            ),
        ],
    )


def _waits(results: Sequence[RankResult]) -> tuple[Waits, list[str]]:
    """Return who waited in what can be matched over ranks, and why the rest cannot."""
    worlds = {result.world_size for result in results if result.world_size is not None}
    if len(worlds) > 1:
        return Waits(), [f"traces of different jobs (world sizes {sorted(worlds)}): ranks are not compared"]
    readable = [result for result in results if result.report.error is None]
    apart = _ends_apart([result.report for result in readable])
    calls = {result.report.rank: _counted(result, apart=apart) for result in readable}
    doubts = [_APART] if apart and any(result.calls for result in readable) else []
    if len(readable) < 2 or all(result.one_group for result in readable):
        return rank_waits(calls), doubts
    known = {rank: [call for call in mine if call.group is not None] for rank, mine in calls.items()}
    others = sorted({call.name for mine in calls.values() for call in mine if call.group is None})
    if others:
        named = ", ".join(others[:_NAMES_TOLD]) + (", …" if len(others) > _NAMES_TOLD else "")
        doubts.append(f"which ranks take part in {named} cannot be told: they are not compared by it")
    return rank_waits(known), doubts


def _ends_apart(reports: Sequence[RankReport]) -> bool:
    """Tell whether traces end with different steps: windows of ranks that were not taken together."""
    return len({max(step.step for step in report.steps) for report in reports if report.steps}) > 1


def _doubted(reports: Sequence[RankReport], figure: str) -> bool:
    return any(
        check.passed is False and figure in check.suppresses for report in reports for check in report.trust
    )


def _counted(result: RankResult, *, apart: bool) -> list[CollectiveCall]:
    """Return the calls that can be matched: those that are counted from the end need the same end."""
    lost = any(check.passed is False and check.name in _NO_END for check in result.report.trust)
    if not apart and not lost:
        return result.calls
    return [call for call in result.calls if call.sequence is not None]


def _with_waits(report: RankReport, waits: Waits) -> RankReport:
    collectives = [
        msgspec.structs.replace(one, wait_us=waits.by_kind.get((report.rank, one.name, one.group)))
        for one in report.collectives
    ]
    return msgspec.structs.replace(report, collectives=collectives)
