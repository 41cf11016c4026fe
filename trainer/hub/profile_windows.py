"""Profiling windows over all ranks: arms them, follows their reports, has the traces analysed.

Windows that somebody else opened (PERFTUI_PROFILE, a hub before this one) are taken on by their reports. The
ranks agree on an absolute start step without a collective; a single rank starts as soon as it can. A rank
that cannot take part is named, and the others go on; every state has a time limit.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import Refused
from perftui.ipc.messages import FINAL_STATES, CancelWindow, ToRank, WindowReport
from perftui.ipc.view import ProfileView
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.hub import trace_retention, window_orders
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.hub_window import HubWindow
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.window_analysis import WindowAnalysis
from perftui.trainer.hub.window_ranks import Lost, RankLife, RankSeen, given_up
from perftui.trainer.hub.window_stacks import WindowStacks
from perftui.trainer.hub.window_view import draw, neighbours_ms, state_of, trace_in
from perftui.trainer.profiling.event_budget import clamped_steps
from perftui.trainer.telemetry.stack_fold import Worker

_NAMED = 8
"""Ranks named in a note."""
_WHOSE = {"start": "PERFTUI_PROFILE", "every": "schedule", "jump": "schedule", "look": "schedule"}
"""What the name of a window that somebody else opened says of it."""
_READ_BY_LEAD = "the lead hub reads its traces"


class ProfileWindows:
    """The windows of one run; one open at a time.

    Args:
        fold: of the run.
        folder: where traces and their analyses lie.
        replay: nothing is analysed any more, what was is shown.
        host: the hub's own, whose loader workers it can look into; None: all that are known.
        now: unix time, by the clock by which the fold's entries are told.
    """

    def __init__(
        self,
        fold: RunFold,
        folder: Path,
        *,
        replay: bool = False,
        host: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._fold = fold
        self._host = host
        self._folder = folder
        self._replay = replay
        self._now = now
        self._stacks = WindowStacks(folder, replay=replay)
        self._analysis = WindowAnalysis(folder, replay=replay)
        self._windows: list[HubWindow] = []
        self._orders: list[tuple[int, ToRank]] = []
        self._elsewhere: set[str] = set()

    @property
    def open(self) -> bool:
        """Whether a window is going on; one that only waits for a far step is not."""
        return any(window.ended is None and not self._waits(window) for window in self._windows)

    @property
    def live(self) -> list[RankTrack]:
        """Ranks that train."""
        return [t for t in self._fold.ordered if t.log.raw and not (t.ended or t.gone or t.host_lost)]

    def opened(self, *prefixes: str) -> int:
        """Return how many windows bear a name that begins so."""
        self._adopt()
        return sum(window.window_id.startswith(prefixes) for window in self._windows)

    def analysed_elsewhere(self, window_id: str) -> None:
        """The lead hub of the run has opened this window on all hosts, and reads the traces itself."""
        self._elsewhere.add(window_id)

    def stacks_for_lead(self) -> list[tuple[str, list[WorkerStacks], list[str]]]:
        """Return, once each, what was seen of workers in windows that the lead has opened, with notes."""
        found: list[tuple[str, list[WorkerStacks], list[str]]] = []
        for window in self._windows:
            if window.window_id in self._elsewhere and window.stacks is not None:
                self._elsewhere.remove(window.window_id)
                window.analysed = True
                notes = [note for note in window.notes if note != _READ_BY_LEAD]
                found.append((window.window_id, window.stacks, notes))
        return found

    def add_stacks(self, window_id: str, stacks: Sequence[WorkerStacks], notes: Sequence[str]) -> None:
        """Take in what another host's hub has seen of its workers."""
        for window in self._windows:
            if window.window_id == window_id and not window.adopted:
                self._stacks.add(window, stacks, notes)
                window.view = None

    def _waits(self, window: HubWindow) -> bool:
        return window.adopted and state_of(window, self._reports(window)) == "armed"

    def take_orders(self) -> list[tuple[int, ToRank]]:
        """Return what is to be sent to which rank, once."""
        orders, self._orders = self._orders, []
        return orders

    # Opening and cancelling

    def begin(
        self,
        command: ProfileCommand,
        peer: bytes = b"",
        *,
        window_id: str | None = None,
        not_before: int = -1,
        opened_by: str = "command",
    ) -> None:
        """Open a window; `take_orders` then has what to send.

        Args:
            command: what is wanted.
            peer: whom to tell of its end.
            window_id: its name; None: a new one.
            not_before: the first step to record is not before this one; negative: as soon as possible.
            opened_by: for `ProfileView.opened_by`.

        Raises:
            Refused: a window is open, nothing trains, or the request makes no sense.
        """
        live = self.live
        if self.open:
            raise Refused("a profiling window is open already; wait for its result, or cancel it")
        window_orders.check(command, live)
        warm = window_orders.warm_steps(live)
        start = window_orders.start_step(live, warm, not_before)
        known = window_orders.events_per_step(live, command.preset)
        steps, why = clamped_steps(command.steps, command.preset, known)
        ahead = max(0, start - max(len(track.log) for track in live)) + warm
        ranks = [track.hello.rank for track in live]
        window = HubWindow(
            window_id=window_id or secrets.token_hex(4),
            command=command,
            start_step=start,
            steps=steps,
            armed_ranks=ranks,
            began_s=time.monotonic(),
            requested_unix=self._now(),
            opened_by=opened_by,
            asked_steps=command.steps if why else None,
            expected_s=ahead * window_orders.step_s(live),
            notes=[note for note in (why, self._unseen(ranks)) if note],
            peer=peer,
            answered=not command.command_id,
        )
        self._windows.append(window)
        self._orders += window_orders.orders(
            command, window.window_id, self._folder, ranks, start, warm, steps
        )

    def _unseen(self, ranks: list[int]) -> str | None:
        there, world = set(ranks), self._fold.world_size()
        missing = list(islice((rank for rank in range(world) if rank not in there), _NAMED + 1))
        if not missing:
            return None
        shown = ", ".join(map(str, missing[:_NAMED])) + (" …" if len(missing) > _NAMED else "")
        return f"of {world} ranks, these do not train here and took no part: {shown}"

    def cancel(self) -> str:
        """End the open window without a result; return its name.

        Raises:
            Refused: none is open.
        """
        going_on = [window for window in self._windows if window.ended is None]
        if not going_on:
            raise Refused("no profiling window is open")
        window = going_on[-1]
        self._orders += [(rank, CancelWindow(window_id=window.window_id)) for rank in window.armed_ranks]
        return window.window_id

    # Following

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
                    window = known[ident] = HubWindow(
                        window_id=ident,
                        command=ProfileCommand(command_id="", steps=report.steps, preset=report.preset),
                        start_step=report.start_step,
                        steps=report.steps,
                        armed_ranks=[],
                        began_s=time.monotonic(),
                        requested_unix=track.windows_unix[ident],
                        opened_by=_WHOSE.get(ident.rstrip("0123456789"), "command"),
                        answered=True,
                        adopted=True,
                    )
                    self._windows.append(window)
                if track.hello.rank not in window.armed_ranks:
                    window.armed_ranks = sorted([*window.armed_ranks, track.hello.rank])

    def _advance(self, window: HubWindow) -> None:
        reports = self._reports(window)
        pending = [rank for rank in window.armed_ranks if self._is_pending(window, rank, reports.get(rank))]
        sampling = self._stacks.sample(window, reports, self._workers(window), self._now())
        if pending:
            return
        if not window.analysed:
            self._analyse(window, reports)
        if window.analysed and not sampling:
            self._end(window)

    def _analyse(self, window: HubWindow, reports: dict[int, WindowReport]) -> None:
        kept = {
            rank: report.path
            for rank, report in reports.items()
            if report.state in ("done", "truncated") and report.path is not None
        }
        others = any(other.analysis is not None and not other.analysed for other in self._windows)
        if window.window_id in self._elsewhere:
            window.notes.append(_READ_BY_LEAD)
            window.analysed = True
        elif not kept:
            window.failure = self._why_failed(window, reports)
            window.analysed = True
        elif window.analysis is not None or not others:
            begun = window.analysis is not None
            self._analysis.follow(window, kept, {} if begun else self._step_ms_before(kept, reports))

    def _why_failed(self, window: HubWindow, reports: dict[int, WindowReport]) -> str:
        reasons = {f"{r.state}: {r.reason}" for r in reports.values() if r.reason and r.state in FINAL_STATES}
        reasons |= {f"rank {rank}: {lost.reason}" for rank, lost in window.lost.items()}
        if not reasons and any(report.state in ("done", "truncated") for report in reports.values()):
            return "no rank that was to keep its trace has recorded one"
        return "; ".join(sorted(reasons)) or "no rank answered in time"

    def _is_pending(self, window: HubWindow, rank: int, report: WindowReport | None) -> bool:
        if (report is not None and report.state in FINAL_STATES) or rank in window.lost:
            return False
        now, track = time.monotonic(), self._fold.ranks.get(rank)
        if track is None:
            window.lost[rank] = Lost("aborted", "its training ended: the job goes on without it")
            return False
        state = report.state if report else None
        seen = window.seen.get(rank)
        if state is not None and (seen is None or seen.state != state):
            seen = window.seen[rank] = RankSeen(state, now)
        if self._replay:
            return not (track.ended or track.gone)
        life = RankLife(
            state=state,
            state_age_s=now - (seen.since_s if seen else window.began_s),
            silent_s=self._now() - track.last_unix,
            gone=track.gone,
            ended=track.ended,
            step=len(track.log),
        )
        lost = given_up(life, window.start_step, window.expected_s, may_wait=window.adopted)
        if lost is None:
            return True
        window.lost[rank] = lost
        self._orders.append((rank, CancelWindow(window_id=window.window_id)))
        return False

    def _reports(self, window: HubWindow) -> dict[int, WindowReport]:
        return {
            rank: report
            for rank in window.armed_ranks
            if (track := self._fold.ranks.get(rank)) is not None  # else it has left the job since
            and (report := track.windows.get(window.window_id)) is not None
        }

    def _workers(self, window: HubWindow) -> list[Worker]:
        return [
            Worker(view.rank, view.pid, view.start_ticks, view.number)
            for host in self._fold.hosts
            if self._host in (None, host.name)
            for view in host.workers
            if view.rank in window.armed_ranks and not view.gone
        ]

    def _end(self, window: HubWindow) -> None:
        window.ended = time.monotonic()
        if not self._replay:
            trace_retention.clear_unfinished(self._folder, window.window_id)
            trace_retention.prune(self._folder)
        for other in self._windows:
            reports = self._reports(other).values()
            had = [trace_in(self._folder, report.path) for report in reports if report.path]
            if had and not other.files_deleted and not any(path.exists() for path in had):
                other.files_deleted, other.view = True, None
                other.notes.append("its trace files are no longer there; the newest windows' are kept")

    # Showing

    def views(self) -> list[ProfileView]:
        """Return all windows, newest last."""
        return [window.view or self._view(window) for window in self._windows]

    def _view(self, window: HubWindow) -> ProfileView:
        view = draw(window, self._reports(window), self._fold.ranks, self._folder)
        if window.ended is not None and set(window.neighbours) == set(window.armed_ranks):
            window.view = view
        return view

    def _step_ms_before(self, ranks: Iterable[int], reports: Mapping[int, WindowReport]) -> dict[int, float]:
        """Return the median step right before the window, of the ranks for which it is known."""
        found = {rank: neighbours_ms(self._fold.ranks[rank], reports[rank])[0] for rank in ranks}
        return {rank: step_ms for rank, step_ms in found.items() if step_ms is not None}

    def close(self) -> None:
        """End an analysis and the sampling that go on."""
        for window in self._windows:
            if window.sampler is not None:
                window.sampler.close()
            self._analysis.close(window)
