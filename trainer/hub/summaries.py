"""The summary JSON of a run, from the folded state."""

import math
from collections.abc import Sequence
from importlib.metadata import version

import msgspec

from perftui.ipc.host_links import HostLink
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.summary import DeviceTime, NotFinite, RankSummary, Summary
from perftui.ipc.view import HostView, ProfileView, Shares
from perftui.trainer.diagnosis import judge
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import unjudged_of
from perftui.trainer.hub.newest_window import WindowSeen
from perftui.trainer.hub.overhead import overhead_of
from perftui.trainer.hub.phase_time import PhaseTime
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.run_signals import signals_of
from perftui.trainer.hub.views import RunFacts, header, host_views, phases_of
from perftui.trainer.hub.worker_log import WorkerLog


def summarise(
    fold: RunFold,
    facts: RunFacts,
    now: float,
    profiles: list[ProfileView],
    verdict: Verdict | None,
    recording_failed_entries: int,
    window: WindowSeen | None = None,
    links: Sequence[HostLink] = (),
    unseen: str | None = None,
) -> Summary:
    """Return the summary as of `now`; findings are judged on the whole run, `unseen` as in `signals_of`."""
    top = header(fold, facts, now)
    hosts = host_views(fold, now)
    host = hosts[0] if hosts else HostView(name=facts.description.host, age_s=0.0)
    log = fold.host_logs.get(host.name)
    outcome = facts.ended.outcome if facts.ended else None
    judged = judge(signals_of(fold, whole_run=True, window=window, outcome=outcome, unseen=unseen))
    return Summary(
        run_id=top.run_id,
        name=top.name,
        command=top.command,
        state=top.state,
        exit_code=top.exit_code,
        stopped_by=top.stopped_by,
        elapsed_s=top.elapsed_s,
        settings=top.settings,
        ranks=[
            _rank_summary(track, fold.worker_logs.get(track.hello.rank), phases_of(facts, track, now))
            for track in fold.ordered
        ],
        gpus=fold.gpus_at_work(now),
        host=host,
        findings=fold.appearances.told(judged.findings, facts.description.started_unix),
        profiles=profiles,
        overhead=overhead_of(fold),
        verdict=verdict,
        message=top.message,
        recording_failed_entries=recording_failed_entries,
        host_mean=log.mean() if log else None,
        unjudged=unjudged_of(judged.abstained),
        started_unix=top.started_unix,
        perftui=version("perftui"),
        attempts=fold.past_attempts,
        hosts=[msgspec.structs.replace(view, workers=[]) for view in hosts] if links else [],
        links=list(links),
    )


def _rank_summary(track: RankTrack, workers: WorkerLog | None, phases: PhaseTime | None) -> RankSummary:
    figures = track.log.whole()
    return RankSummary(
        rank=track.hello.rank,
        host=track.hello.host,
        device=track.device,
        gpu_uuid=track.gpu_uuid,
        steps=len(track.log),
        step_ms=figures.step_ms if figures else None,
        steps_per_s=figures.steps_per_s if figures else None,
        samples_per_s=figures.samples_per_s if figures else None,
        boundary=track.boundary(),
        loss=track.loss,
        shares=figures.shares if figures else Shares(),
        dropped=track.dropped,
        settings=track.settings,
        settings_failed=track.settings_failed,
        probe_errors=track.probe_errors,
        window_steps=figures.steps if figures else 0,
        device_ms=_device_time(track),
        workers=workers.whole() if workers else None,
        facts=track.facts,
        phases_s=phases.seconds if phases else None,
        tokens_per_s=figures.tokens_per_s if figures else None,
        python=track.hello.python,
        torch=track.hello.torch,
        lost_frames=track.lost_frames,
        loss_not_finite=not_finite(track.loss),
    )


def not_finite(loss: float | None) -> NotFinite | None:
    """Return the word for a loss that is no finite number."""
    if loss is None or math.isfinite(loss):
        return None
    if math.isnan(loss):
        return "nan"
    return "inf" if loss > 0 else "-inf"


def _device_time(track: RankTrack) -> DeviceTime:
    view = track.device_log.view()
    if view is None:
        return DeviceTime()
    busy_ms = view.step_ms if view.wait_ms is None else view.step_ms - view.wait_ms
    return DeviceTime(busy=busy_ms, idle=view.wait_ms, parts=view)
