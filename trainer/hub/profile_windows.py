"""Profiling windows over all ranks: arms them, follows their reports, has the traces analysed.

Windows that somebody else opened (PERFTUI_PROFILE, a hub before this one) are taken on by their reports. The
ranks agree on an absolute start step without a collective; a single rank starts as soon as it can.
"""

import math
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import Refused
from perftui.ipc.messages import UNUSUAL_FLAGS, ArmWindow, WindowReport
from perftui.ipc.run_files import read_record
from perftui.ipc.view import ProfileRank, ProfileState, ProfileView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import quantile
from perftui.trainer.profiling.answer import Analysis

_STEPS_MAX = 50
_FINAL = frozenset({"done", "failed", "aborted", "late", "busy", "unsupported"})
_PATIENCE_S = 120.0
_ANALYSIS_S = 120.0
_COMMAND_DELAY_S = 0.5
"""From here to a rank and back: batches leave a rank ten times a second."""
_NEIGHBOUR_STEPS = 20
_SETTLING_STEPS = 2
"""Steps right after a window still pay for it."""


_Neighbours: TypeAlias = tuple[float | None, float | None]


@dataclass
class _Window:
    window_id: str
    command: ProfileCommand
    start_step: int
    steps: int
    armed_ranks: list[int]
    began: float
    requested_unix: float
    analysis: "subprocess.Popen[bytes] | None" = None
    result: Analysis | None = None
    failure: str | None = None
    ended: float | None = None
    peer: bytes = b""
    answered: bool = False
    adopted: bool = False
    neighbours: dict[int, _Neighbours] = field(default_factory=dict)
    """Median step time before and after, by rank, as soon as both are known for good."""
    view: ProfileView | None = None
    """Of a window that will not change any more."""


class ProfileWindows:
    """The windows of one run; one open at a time.

    Args:
        fold: of the run.
        folder: where traces and their analyses lie.
        replay: nothing is analysed any more, what was is shown.
    """

    def __init__(self, fold: RunFold, folder: Path, *, replay: bool = False) -> None:
        self._fold = fold
        self._folder = folder
        self._replay = replay
        self._windows: list[_Window] = []

    @property
    def open(self) -> bool:
        """Whether a window is going on; one that only waits for a far step is not."""
        return any(window.ended is None and not self._waits(window) for window in self._windows)

    def _waits(self, window: _Window) -> bool:
        return window.adopted and _state(window, self._reports(window)) == "armed"

    def begin(self, command: ProfileCommand, peer: bytes) -> dict[int, ArmWindow]:
        """Open a window; return what to send to which rank.

        Raises:
            Refused: a window is open, nothing trains, or the request makes no sense.
        """
        live = [t for t in self._fold.ordered if t.log.raw and not (t.ended or t.gone)]
        if self.open:
            raise Refused("a profiling window is open already; wait for its result")
        if not live:
            raise Refused("no rank is training yet: a window needs steps")
        if not 1 <= command.steps <= _STEPS_MAX:
            raise Refused(f"{command.steps} steps: a window takes 1 to {_STEPS_MAX}")
        known = {track.hello.rank for track in live}
        if command.ranks is not None and not set(command.ranks) <= known:
            raise Refused(f"ranks {command.ranks}: this run has {sorted(known)}")
        warm = 2 if any(track.device.startswith("cuda") for track in live) and not self._windows else 1
        start = -1 if len(live) == 1 else _agreed_start(live, warm)
        window = _Window(
            window_id=secrets.token_hex(4),
            command=command,
            start_step=start,
            steps=command.steps,
            armed_ranks=sorted(known),
            began=time.monotonic(),
            requested_unix=time.time(),
            peer=peer,
        )
        self._windows.append(window)
        return {
            rank: ArmWindow(
                window_id=window.window_id,
                start_step=start,
                warm_steps=warm,
                steps=command.steps,
                preset=command.preset,
                directory=str(self._folder),
                keep=command.ranks is None or rank in command.ranks,
            )
            for rank in known
        }

    def tick(self) -> list[tuple[bytes, str, ProfileView]]:
        """Move on; return windows that have just ended as (peer, command id, view)."""
        self._adopt()
        ended: list[tuple[bytes, str, ProfileView]] = []
        for window in self._windows:
            if window.ended is None:
                self._advance(window)
            if window.ended is not None and not window.answered:
                window.answered = True
                ended.append((window.peer, window.command.command_id, self._view(window)))
        return ended

    def _adopt(self) -> None:
        """Take on windows that ranks report and that this hub has not opened."""
        known = {window.window_id: window for window in self._windows}
        for track in self._fold.ordered:
            for ident, report in track.windows.items():
                window = known.get(ident)
                if window is None:
                    window = known[ident] = _Window(
                        window_id=ident,
                        command=ProfileCommand(command_id="", steps=report.steps),
                        start_step=report.start_step,
                        steps=report.steps,
                        armed_ranks=[],
                        began=time.monotonic(),
                        requested_unix=track.windows_unix[ident],
                        answered=True,
                        adopted=True,
                    )
                    self._windows.append(window)
                if track.hello.rank not in window.armed_ranks:
                    window.armed_ranks = sorted([*window.armed_ranks, track.hello.rank])

    def _advance(self, window: _Window) -> None:
        if window.analysis is not None:
            self._follow_analysis(window)
            return
        reports = self._reports(window)
        if self._waits(window):
            window.began = time.monotonic()
        pending = [rank for rank in window.armed_ranks if self._is_pending(rank, reports.get(rank))]
        late = time.monotonic() - window.began > _PATIENCE_S
        if pending and not late:
            return
        kept = {rank: r.path for rank, r in reports.items() if r.state == "done" and r.path is not None}
        if kept:
            self._begin_analysis(window, kept)
            return
        reasons = sorted({f"{r.state}: {r.reason}" for r in reports.values() if r.reason})
        window.failure = "; ".join(reasons) or "no rank answered in time"
        window.ended = time.monotonic()

    def _begin_analysis(self, window: _Window, kept: dict[int, str]) -> None:
        if window.adopted and (self._replay or self._out(window).exists()):
            self._take_result(window, "its analysis was not kept")
            return
        if any(other.analysis is not None and other.ended is None for other in self._windows):
            return
        window.began = time.monotonic()
        try:
            window.analysis = self._start_analysis(window, kept)
        except OSError as error:
            window.failure = f"the analysis of the trace could not be started: {error}"
            window.ended = window.began

    def _is_pending(self, rank: int, report: WindowReport | None) -> bool:
        track = self._fold.ranks[rank]
        if track.ended or track.gone:
            return False
        return report is None or report.state not in _FINAL

    def _reports(self, window: _Window) -> dict[int, WindowReport]:
        return {
            rank: report
            for rank in window.armed_ranks
            if (report := self._fold.ranks[rank].windows.get(window.window_id)) is not None
        }

    def _out(self, window: _Window) -> Path:
        return self._folder / f"{window.window_id}.analysis.json"

    def _start_analysis(self, window: _Window, kept: dict[int, str]) -> "subprocess.Popen[bytes]":
        named = [f"{rank}={self._folder / path}" for rank, path in sorted(kept.items())]
        command = [sys.executable, "-m", "perftui.trainer.profiling.analyse", str(self._out(window)), *named]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def _follow_analysis(self, window: _Window) -> None:
        worker = window.analysis
        if worker is None:
            return
        if worker.poll() is None:
            if time.monotonic() - window.began < _ANALYSIS_S:
                return
            worker.kill()
        _, errors = worker.communicate()
        told = errors.decode("utf-8", "replace").strip().splitlines()
        self._take_result(window, f"the trace could not be analysed: {told[-1] if told else 'no word why'}")

    def _take_result(self, window: _Window, otherwise: str) -> None:
        window.result = read_record(self._out(window), Analysis)
        if window.result is None:
            window.failure = otherwise
        window.ended = time.monotonic()

    def views(self) -> list[ProfileView]:
        """Return all windows, newest last."""
        return [window.view or self._view(window) for window in self._windows]

    def _view(self, window: _Window) -> ProfileView:
        view = self._draw(window)
        if window.ended is not None and set(window.neighbours) == set(window.armed_ranks):
            window.view = view
        return view

    def _draw(self, window: _Window) -> ProfileView:
        reports = self._reports(window)
        started = [r.start_step for r in reports.values() if r.start_step >= 0]
        return ProfileView(
            window_id=window.window_id,
            state=_state(window, reports),
            start_step=max(started, default=window.start_step),
            steps=window.steps,
            requested_unix=window.requested_unix,
            sentence=window.failure or (window.result.sentence if window.result else None),
            ranks=[self._rank(window, rank, reports.get(rank)) for rank in window.armed_ranks],
            report_path=window.result.report_path if window.result else None,
        )

    def _rank(self, window: _Window, rank: int, report: WindowReport | None) -> ProfileRank:
        found = next((r for r in window.result.ranks if r.rank == rank), None) if window.result else None
        base = found or ProfileRank(rank=rank, state="armed")
        if report is None:
            return msgspec.structs.replace(base, state="silent", reason="no answer from this rank")
        before, after = self._neighbours(window, self._fold.ranks[rank], report)
        return msgspec.structs.replace(
            base,
            state=report.state,
            reason=report.reason,
            path=str(self._folder / report.path) if report.path else None,
            step_ms_before=before,
            step_ms_after=after,
            stall_ms=report.cost_ms.get("stall"),
        )

    def _neighbours(self, window: _Window, track: RankTrack, report: WindowReport) -> _Neighbours:
        """Return them, and keep them before the steps that they are taken from are forgotten."""
        rank = track.hello.rank
        if rank in window.neighbours:
            return window.neighbours[rank]
        found = _neighbours_ms(track, report)
        if report.state in _FINAL and (
            found[1] is not None or track.ended or track.gone or len(track.log) > _last_neighbour(report)
        ):
            window.neighbours[rank] = found
        return found

    def close(self) -> None:
        """End an analysis that is going on."""
        for window in self._windows:
            if window.analysis is not None and window.analysis.poll() is None:
                window.analysis.kill()
                window.analysis.wait()


def _state(window: _Window, reports: dict[int, WindowReport]) -> ProfileState:
    if window.ended is not None:
        return "failed" if window.failure else "done"
    if window.analysis is not None:
        return "analysing"
    recording = any(r.state in ("recording", "saving", "done") for r in reports.values())
    return "recording" if recording else "armed"


def _agreed_start(live: list[RankTrack], warm: int) -> int:
    """Return a step that every rank can still reach in time: profiling.md's margin, plus the warm steps."""
    furthest = max(len(track.log) for track in live)
    windows = [figures for track in live if (figures := track.log.window(50)) is not None]
    step_s = min((figures.step_ms.p50 for figures in windows), default=100.0) / 1e3
    return furthest + max(3, math.ceil(2 * _COMMAND_DELAY_S / max(step_s, 1e-4))) + warm


def _last_neighbour(report: WindowReport) -> int:
    """Return a step by which the neighbours have been seen, unusual ones among them left out."""
    return max(0, report.start_step) + max(0, report.steps) + _SETTLING_STEPS + 10 * _NEIGHBOUR_STEPS


def _neighbours_ms(track: RankTrack, report: WindowReport) -> _Neighbours:
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
