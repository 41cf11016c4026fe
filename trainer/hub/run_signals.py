"""From the folded state to the signals that the rules look at. Pure: the same fold gives the same signals."""

from collections.abc import Sequence
from dataclasses import replace

from perftui.ipc.ledger_records import Outcome
from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.step_record import StepRecord
from perftui.ipc.trace_report import RankReport
from perftui.ipc.view import Shares, StepStats
from perftui.trainer.diagnosis.in_parts import Parts, at_once
from perftui.trainer.diagnosis.signals import Arrivals, HostSignals, PauseSignals, RankSignals, RunSignals
from perftui.trainer.hub.arrivals import arrivals_of
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.newest_window import WindowSeen
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import WARM_STEPS, WindowFigures
from perftui.trainer.hub.step_patterns import patterns_of
from perftui.trainer.hub.views import WINDOW_STEPS
from perftui.trainer.profiling.undistorted import undistorted

CHANGE_S = 60.0
"""Growth of totals is taken over about so long."""
_LOSSES = 64
_ARRIVALS_OF_ALL = 32_768
"""Steps of all ranks together that are compared: of a thousand ranks the newest thirty of each."""
_ARRIVALS_LEAST = 30
_NOTHING = WindowFigures(
    steps=0,
    step_ms=StepStats(mean=0.0, p50=0.0, p90=0.0, p99=0.0),
    shares=Shares(),
    cpu_share=None,
    steps_per_s=0.0,
    samples_per_s=None,
    coverage=0.0,
    epoch_start_wait=0.0,
)
"""Of a rank of whose steps none counts yet, or that still compiles before its first."""


def signals_of(
    fold: RunFold,
    *,
    whole_run: bool = False,
    window: WindowSeen | None = None,
    outcome: Outcome | None = None,
    unseen: str | None = None,
) -> RunSignals:
    """Return the newest window of every rank, or the whole run's figures, as the rules see them.

    Args:
        fold: of the run.
        whole_run: all steps past the warm-up instead of the newest ones.
        window: the newest profiling window that could be read.
        outcome: how the training ended; None while it goes on.
        unseen: why loader workers of the hub's host cannot be looked into; None: nothing is known against it.
    """
    return at_once(signals_in_parts(fold, whole_run=whole_run, window=window, outcome=outcome, unseen=unseen))


def signals_in_parts(
    fold: RunFold,
    *,
    whole_run: bool = False,
    window: WindowSeen | None = None,
    outcome: Outcome | None = None,
    unseen: str | None = None,
) -> Parts[RunSignals]:
    """Do the same, a part for each rank; what arrives in between is seen by the ranks that follow."""
    ranks: list[RankSignals] = []
    for track in fold.ordered:
        if track.log.raw or track.facts.compiles_now:  # before its first step that alone can be said of it
            seen = _rank_signals(fold, track, window, whole_run=whole_run)
            here = unseen if track.hello.host == fold.host else None
            ranks.append(replace(seen, workers_unseen=here or seen.workers_unseen))
            yield
    return RunSignals(
        ranks=tuple(ranks),
        hosts=tuple(_hosts(fold, whole_run=whole_run)),
        world_size=fold.world_size() if fold.ranks else 1,
        gpus=tuple(view for _, view in fold.worked.values()),
        arrivals=_arrivals(fold),
        report=None if window is None else window.report,
        outcome=outcome,
    )


def _rank_signals(
    fold: RunFold, track: RankTrack, window: WindowSeen | None, *, whole_run: bool
) -> RankSignals:
    log = track.log
    figures = (log.whole() if whole_run else log.window(WINDOW_STEPS)) or _NOTHING
    workers = fold.worker_logs.get(track.hello.rank)
    memory = fold.worker_memory.get(track.hello.rank)
    change_s = None if whole_run else CHANGE_S
    hook_ns = track.hook_ns / track.hook_steps if track.hook_steps else None
    wall_ns = log.mean_wall_ns
    return RankSignals(
        rank=track.hello.rank,
        host=track.hello.host,
        device=track.device,
        window_steps=figures.steps,
        coverage=figures.coverage,
        step_ms=figures.step_ms,
        shares=figures.shares,
        cpu_share=figures.cpu_share,
        loader=track.loader,
        read_ahead=track.read_ahead,
        settings=track.settings,
        epoch_start_wait=figures.epoch_start_wait,
        workers=(workers.whole() if whole_run else workers.recent()) if workers else None,
        worker_growth=memory.growth(change_s) if memory else None,
        facts=track.facts,
        change=track.facts_log.change(track.last_unix, len(log), change_s),
        patterns=patterns_of(log, None if whole_run else WINDOW_STEPS),
        pauses=_pauses(track, whole_run=whole_run),
        device_ms=track.device_log.view(0 if whole_run else len(log) - WINDOW_STEPS),
        losses=tuple(list(track.losses)[-_LOSSES:]),
        report=_report_of(window, track.hello.rank),
        worker_stacks=()
        if window is None
        else tuple(each for each in window.worker_stacks if each.rank == track.hello.rank),
        workers_unseen=None if window is None else window.workers_unseen,
        dropped=track.dropped,
        hook_share=hook_ns / wall_ns if hook_ns is not None and wall_ns else None,
        world_size=track.hello.world_size,
        gpu_uuid=track.gpu_uuid,
    )


def _report_of(window: WindowSeen | None, rank: int) -> RankReport | None:
    if window is None:
        return None
    found = next((each for each in window.report.ranks if each.rank == rank and each.error is None), None)
    return None if found is None else undistorted(found)


def _pauses(track: RankTrack, *, whole_run: bool) -> tuple[PauseSignals, ...]:
    """Return the interruptions since the warm-up, or within the newest steps."""
    rows = track.log.raw
    if not rows:
        return ()
    first = _begin_ns(rows, None if whole_run else WINDOW_STEPS)
    warm_end_ns = track.log.warm_end_ns
    if whole_run and warm_end_ns is not None:
        return track.pauses.whole(warm_end_ns, rows[-1].end_ns)
    return track.pauses.between(first, rows[-1].end_ns)


def _begin_ns(rows: Sequence[StepRecord], steps: int | None) -> int:
    at = 0 if steps is None else max(0, len(rows) - steps)
    while at < len(rows) - 1 and rows[at].step < WARM_STEPS:
        at += 1
    return rows[at].end_ns - rows[at].wall_ns


def _hosts(fold: RunFold, *, whole_run: bool) -> list[HostSignals]:
    found = [log.whole() if whole_run else log.recent() for log in fold.host_logs.values()]
    views = {view.name: view for view in fold.hosts}
    hosts: list[HostSignals] = []
    for host in found:
        if host is None:
            continue
        seen = views.get(host.name)
        masks = [w.cores for w in seen.workers if w.cores and not w.gone] if seen else []
        hosts.append(replace(host, worker_cores=min(masks, default=None)))
    return hosts


def _arrivals(fold: RunFold) -> Arrivals | None:
    steps = max(_ARRIVALS_LEAST, min(WINDOW_STEPS, _ARRIVALS_OF_ALL // max(1, len(fold.ranks))))
    rows = {
        track.hello.rank: [
            row for row in track.log.since(len(track.log) - steps) if not row.flags & UNUSUAL_FLAGS
        ]
        for track in fold.ordered
    }
    return arrivals_of(rows) if len(rows) > 1 and len(rows) == fold.world_size() else None
