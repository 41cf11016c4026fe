"""Draws a profiling window for dashboards and summaries out of its record and the ranks' reports."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from perftui.ipc.messages import FINAL_STATES, UNUSUAL_FLAGS, WindowReport
from perftui.ipc.view import ProfileRank, ProfileState, ProfileView
from perftui.trainer.hub.hub_window import HubWindow, Neighbours
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import quantile

Reports = Mapping[int, WindowReport]

_NEIGHBOUR_STEPS = 20
_SETTLING_STEPS = 2
"""Steps right after a window still pay for it."""


def state_of(window: HubWindow, reports: Reports) -> ProfileState:
    """Return how a window stands."""
    if window.ended is not None:
        return "failed" if window.failure else "done"
    if window.analysis is not None:
        return "analysing"
    begun = ("recording", "saving", "done", "truncated")
    return "recording" if any(report.state in begun for report in reports.values()) else "armed"


def trace_in(folder: Path, told: str) -> Path:
    """Return where a file is that a rank tells of: in the run's own folder, whatever path it names."""
    return folder / Path(told).name


def draw(window: HubWindow, reports: Reports, tracks: Mapping[int, RankTrack], folder: Path) -> ProfileView:
    """Return the view of a window; notes the step times before and after in the window."""
    started = [report.start_step for report in reports.values() if report.start_step >= 0]
    recorded = [report.steps for report in reports.values() if report.state in ("done", "truncated")]
    return ProfileView(
        window_id=window.window_id,
        state=state_of(window, reports),
        start_step=max(started, default=window.start_step),
        steps=max(recorded, default=window.steps),
        requested_unix=window.requested_unix,
        sentence=window.failure or (window.result.sentence if window.result else None),
        ranks=[
            _rank(window, rank, reports.get(rank), tracks[rank], folder)
            for rank in window.armed_ranks
            if rank in tracks
        ],
        preset=window.command.preset,
        opened_by=window.opened_by,
        asked_steps=window.asked_steps,
        window_notes=[*window.notes, *_notes_on_ranks(window, reports)],
        worker_stacks=window.stacks or [],
        report_path=window.result.report_path if window.result else None,
    )


def _notes_on_ranks(window: HubWindow, reports: Reports) -> list[str]:
    """Name the ranks that did not do what was asked."""
    notes: list[str] = []
    for rank in window.armed_ranks:
        report, lost = reports.get(rank), window.lost.get(rank)
        if report is not None and report.state in FINAL_STATES:
            if report.reason:
                notes.append(f"rank {rank}: {report.state}: {report.reason}")
        elif lost is not None:
            notes.append(f"rank {rank}: {lost.state}: {lost.reason}")
    return notes


def _rank(
    window: HubWindow, rank: int, report: WindowReport | None, track: RankTrack, folder: Path
) -> ProfileRank:
    found = next((r for r in window.result.ranks if r.rank == rank), None) if window.result else None
    base = found or ProfileRank(rank=rank, state="armed")
    lost = window.lost.get(rank)
    if report is None:
        state, reason = lost or ("armed" if window.ended is None else "silent", "no answer from this rank")
        return msgspec.structs.replace(base, state=state, reason=reason)
    before, after = _neighbours(window, track, report)
    given_up = lost if report.state not in FINAL_STATES else None
    kept = not window.files_deleted
    return msgspec.structs.replace(
        base,
        state=given_up.state if given_up else report.state,
        reason=given_up.reason if given_up else report.reason,
        path=str(trace_in(folder, report.path)) if report.path and kept else None,
        snapshot=str(trace_in(folder, report.snapshot)) if report.snapshot and kept else None,
        step_ms_before=before,
        step_ms_after=after,
        stall_ms=report.cost_ms.get("stall"),
        cost_ms=report.cost_ms,
        events=report.events or None,
    )


def _neighbours(window: HubWindow, track: RankTrack, report: WindowReport) -> Neighbours:
    """Return them, and keep them before the steps that they are taken from are forgotten."""
    rank = track.hello.rank
    if rank in window.neighbours:
        return window.neighbours[rank]
    found = neighbours_ms(track, report)
    if report.state in FINAL_STATES and (
        found[1] is not None or track.ended or track.gone or len(track.log) > _last_neighbour(report)
    ):
        window.neighbours[rank] = found
    return found


def _last_neighbour(report: WindowReport) -> int:
    """Return a step by which the neighbours have been seen, unusual ones among them left out."""
    return max(0, report.start_step) + max(0, report.steps) + _SETTLING_STEPS + 10 * _NEIGHBOUR_STEPS


def neighbours_ms(track: RankTrack, report: WindowReport) -> Neighbours:
    """Return the median step time before and after a window."""
    if report.start_step < 0 or report.steps <= 0:
        return None, None
    end = report.start_step + report.steps + _SETTLING_STEPS
    usual = [row for row in track.log.raw if not row.flags & UNUSUAL_FLAGS]
    before = [row.wall_ns / 1e6 for row in usual if row.step < report.start_step][-_NEIGHBOUR_STEPS:]
    after = [row.wall_ns / 1e6 for row in usual if row.step >= end][:_NEIGHBOUR_STEPS]
    enough = _NEIGHBOUR_STEPS // 2
    return (
        quantile(sorted(before), 0.5) if len(before) >= enough else None,
        quantile(sorted(after), 0.5) if len(after) >= enough else None,
    )
