"""From the folded state to what a dashboard shows. Pure: the time is passed in."""

from dataclasses import dataclass

import msgspec

from perftui.ipc.run_files import ExitRecord, RunDescription
from perftui.ipc.settings import Settings, format_value
from perftui.ipc.view import Header, HostView, LoaderWorkers, RankView, RunState, Shares
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.host_log import aged
from perftui.trainer.hub.overhead import mean_step_us, overhead_of
from perftui.trainer.hub.phase_time import PhaseTime, active_unix, phase_now, phase_time
from perftui.trainer.hub.rank_track import RankTrack

WINDOW_STEPS = 200
"""How many of the newest usual steps a rank's figures cover."""
_LOSSES = 8
_SILENT_AFTER_S = 5.0
_STALLED_AFTER_S = 30.0
_STALLED_STEPS = 20
_BEHIND_S = 5.0
"""Frames may wait for a second or two when a hub has just started."""


@dataclass(frozen=True)
class Replay:
    """How a recording is played."""

    speed: float
    paused: bool
    total_s: float


@dataclass(frozen=True)
class RunFacts:
    """What is known of the run from its files and processes, beside what the ranks say."""

    description: RunDescription
    ended: ExitRecord | None
    stopping: bool
    lost: bool
    successor: str | None = None
    replay: Replay | None = None
    hub_pid: int = 0
    hub_restarts: int = 0
    message: str | None = None


def rank_view(
    track: RankTrack,
    now: float,
    marks: list[str],
    changed: int,
    workers: LoaderWorkers | None = None,
    phases: PhaseTime | None = None,
) -> RankView:
    """Return one rank as it stands at `now`."""
    return msgspec.structs.replace(
        _in_brief(track, now, marks, changed, workers),
        losses=list(track.losses)[-_LOSSES:],
        settings=track.settings,
        settings_failed=track.settings_failed,
        device_ms=track.device_log.view(len(track.log) - WINDOW_STEPS),
        facts=track.facts,
        phase=phases.phase if phases else None,
        phase_for_s=phases.for_s if phases else None,
        phases_s=phases.seconds if phases else None,
    )


def phases_of(facts: RunFacts, track: RankTrack, now: float) -> PhaseTime | None:
    """Return what a rank is at and what its time went to, until `now` or the end of the run."""
    started = track.first_unix if track.attempt > 1 else facts.description.started_unix
    return phase_time(track, started, _until(facts, track, now))


def _until(facts: RunFacts, track: RankTrack, now: float) -> float:
    """Return the moment until which a rank's phase went on."""
    if facts.ended is not None:
        return min(now, facts.ended.ended_unix)
    if facts.lost or track.gone or (track.ended and not facts.description.owned):
        return track.last_unix
    return now


def brief_view(
    facts: RunFacts,
    track: RankTrack,
    now: float,
    marks: list[str],
    changed: int,
    workers: LoaderWorkers | None = None,
) -> RankView:
    """Return what a table shows of one rank of many; `rank_view` has the rest."""
    phase = phase_now(track, _until(facts, track, now))
    return msgspec.structs.replace(
        _in_brief(track, now, marks, changed, workers),
        phase=phase[0] if phase else None,
        phase_for_s=phase[1] if phase else None,
        brief=True,
    )


def _in_brief(
    track: RankTrack, now: float, marks: list[str], changed: int, workers: LoaderWorkers | None
) -> RankView:
    figures = track.log.window(WINDOW_STEPS)
    newest = track.log.raw[-1] if track.log.raw else None
    return RankView(
        rank=track.hello.rank,
        host=track.hello.host,
        pid=track.hello.pid,
        state=track.state(now, _SILENT_AFTER_S),
        age_s=max(0.0, now - track.last_unix),
        device=track.device,
        gpu_uuid=track.gpu_uuid,
        world_size=track.hello.world_size,
        steps=len(track.log),
        epoch=newest.epoch if newest else 0,
        boundary=track.boundary(),
        window_steps=figures.steps if figures else 0,
        now_ms=newest.wall_ns / 1e6 if newest else None,
        step_ms=figures.step_ms if figures else None,
        steps_per_s=figures.steps_per_s if figures else None,
        samples_per_s=figures.samples_per_s if figures else None,
        shares=figures.shares if figures else Shares(),
        cpu_share=figures.cpu_share if figures else None,
        loss=track.loss,
        dropped=track.dropped,
        lost_frames=track.lost_frames,
        probe_errors=track.probe_errors,
        marks=marks,
        changed=changed,
        workers=workers,
        tokens_per_s=figures.tokens_per_s if figures else None,
    )


def host_views(fold: RunFold, now: float) -> list[HostView]:
    """Return the hosts with the ages that their figures have at `now`."""
    return [aged(view, max(0.0, now - fold.hosts_unix.get(view.name, now))) for view in fold.hosts]


def workers_of(fold: RunFold, rank: int, now: float) -> LoaderWorkers | None:
    """Return the loader workers of a rank taken together; None when none was seen."""
    log = fold.worker_logs.get(rank)
    return log.at(now) if log else None


def run_state(fold: RunFold, facts: RunFacts, now: float) -> RunState:
    """Return how the run stands at `now`."""
    if facts.ended is not None:
        if facts.ended.stopped_by is not None:
            return "stopped"
        return "finished" if facts.ended.exit_code == 0 else "failed"
    if facts.lost:
        return "lost"
    if facts.stopping:
        return "stopping"
    tracks = fold.ordered
    if not tracks:
        return "waiting" if now - facts.description.started_unix > _SILENT_AFTER_S else "starting"
    if not any(track.log.raw for track in tracks):
        return "waiting"
    if all(track.ended or track.gone for track in tracks):
        return "training" if facts.description.owned else "finished"
    idle_s = now - max(active_unix(track, now) or track.first_unix for track in tracks) - behind_s(fold)
    stalled = idle_s > _STALLED_AFTER_S and idle_s > _stalled_after_s(tracks)
    return "stalled" if stalled else "training"


def behind_s(fold: RunFold) -> float:
    """Return how far the hub is behind what its living ranks say: a host without a free core makes it so."""
    return max(0.0, min((t.heard_late_s for t in fold.ordered if not (t.ended or t.gone)), default=0.0))


def _stalled_after_s(tracks: list[RankTrack]) -> float:
    """Return how long a step may take before the run counts as stalled: far longer than any so far."""
    slowest_ms = 0.0
    for track in tracks:
        figures = track.log.window(WINDOW_STEPS)
        slowest_ms = max(slowest_ms, figures.step_ms.p99 if figures else 0.0)
    return _STALLED_STEPS * slowest_ms / 1e3


def header(fold: RunFold, facts: RunFacts, now: float) -> Header:
    """Return the run as a whole."""
    description = facts.description
    lead = fold.ordered[0] if fold.ranks else None
    ended_unix = facts.ended.ended_unix if facts.ended else now
    epoch_steps = lead.steps_per_epoch() if lead else None
    overhead = overhead_of(fold)
    phases = phases_of(facts, lead, now) if lead and not lead.ended else None
    return Header(
        run_id=description.run_id,
        name=description.name,
        host=description.host,
        command=description.command,
        state=run_state(fold, facts, now),
        started_unix=description.started_unix,
        elapsed_s=max(0.0, ended_unix - description.started_unix),
        world_size=fold.world_size() if fold.ranks else 1,
        step=fold.steps_done() if fold.ranks else None,
        epoch=lead.log.raw[-1].epoch if lead and lead.log.raw else None,
        epoch_step=len(lead.log) - lead.epoch_first_step if lead and lead.log.raw else None,
        steps_total=epoch_steps,
        eta_s=_eta_s(lead, epoch_steps) if facts.ended is None else None,
        loss=lead.loss if lead else None,
        exit_code=facts.ended.exit_code if facts.ended else None,
        stopped_by=facts.ended.stopped_by if facts.ended else None,
        message=_message(fold, facts),
        owned=description.owned,
        trial=description.trial,
        parent=description.parent,
        successor=facts.successor,
        replay=facts.replay is not None,
        replay_speed=facts.replay.speed if facts.replay else None,
        replay_paused=facts.replay is not None and facts.replay.paused,
        replay_total_s=facts.replay.total_s if facts.replay else None,
        settings=description.settings,
        hub_pid=facts.hub_pid,
        hub_restarts=facts.hub_restarts,
        overhead_us=overhead.us_per_step,
        overhead_share=overhead.share,
        phase=phases.phase if phases else None,
        phase_for_s=phases.for_s if phases else None,
        shadow_us=overhead.shadow_cpu_us,
        shadow_se_us=overhead.shadow_cpu_se_us,
        step_us=mean_step_us(fold),
        attempt=fold.attempt,
    )


def _message(fold: RunFold, facts: RunFacts) -> str | None:
    ended = _end_message(facts.ended, stepped=any(track.log.raw for track in fold.ordered))
    late_s = 0.0 if facts.ended else behind_s(fold)
    behind = f"perftui is {late_s:.0f} s behind the ranks: its host has no core free for it"
    parts = [
        facts.message or ended,
        not_applied_words(fold, facts.description.settings),
        behind if late_s > _BEHIND_S else None,
    ]
    return "; ".join(part for part in parts if part) or None


def not_applied_words(fold: RunFold, asked: Settings) -> str | None:
    """Say which settings that were asked for are not in force, and why; None when all are."""
    said: dict[str, None] = {}
    for track in fold.ordered:
        for name, reason in track.settings_failed.items():
            value = format_value(asked[name]) if name in asked else "…"
            said[f"{name}={value} could not be applied: {reason}"] = None
    return "; ".join(said) or None


def _eta_s(lead: RankTrack | None, epoch_steps: int | None) -> float | None:
    figures = lead.log.window(WINDOW_STEPS) if lead else None
    if lead is None or epoch_steps is None or figures is None:
        return None
    left = epoch_steps - (len(lead.log) - lead.epoch_first_step)
    return max(0, left) * figures.step_ms.mean / 1e3


def _end_message(ended: ExitRecord | None, *, stepped: bool) -> str | None:
    if ended is None or ended.stopped_by or ended.exit_code == 0:
        return None
    told = {
        "oom_gpu": "out of GPU memory",
        "oom_host": "ended by the system for want of memory",
        "died_at_start": "ended" if stepped else "ended before its first step",
    }.get(ended.outcome, "ended")
    how = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"exit code {ended.exit_code}"
    last = next((line for line in reversed(ended.last_lines) if line.strip()), "")
    return f"{told} ({how}){': ' + last if last else ''}"
