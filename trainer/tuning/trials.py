"""One trial: a fresh start that harms nothing, followed until it is measured, then stopped.

A trial's keeper ends it when this process ends; what the trial saved goes with its scratch folder.
"""

import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from perftui.ipc.errors import PerftuiError
from perftui.ipc.ledger_records import BROKEN, Launch, Outcome
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.ipc.settings import Settings
from perftui.trainer.launch.orphans import end_orphan
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch, request_stop, wait_for_exit
from perftui.trainer.tuning.measure import Followed, Follower, Progress, Promise, broken_words
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.reach import Prospect
from perftui.trainer.tuning.regression import Label
from perftui.trainer.tuning.subject import Subject, trainers_of
from perftui.trainer.tuning.trial_command import NO_RESTARTS, without_restarts

_GRACE_S = 10.0
_STOPPED_WITHIN_S = 90.0
_CLEARED_WITHIN_S = 20.0


@dataclass(frozen=True)
class Conditions:
    """What all trials of one comparison have in common."""

    subject: Subject
    seed: int
    """For random, numpy and torch."""
    se_wanted: float
    """The standard error at which a launch has been measured well enough, in log units."""
    caps: Caps
    """How long each may take."""
    prospect: Prospect | None = None
    """What the comparison may find at best."""
    promise: Promise | None = None
    """What a launch may show that makes less precision enough."""


@dataclass(frozen=True)
class Trial:
    """What came of one trial."""

    launch: Launch
    steps_s: list[float] = field(default_factory=list[float])
    losses: dict[int, float] = field(default_factory=dict[int, float])
    cancelled: bool = False
    ended_early: bool = False
    """It ended as it should, or was stopped, before it could be measured."""


def run_trial(
    label: Label,
    number: int,
    settings: Settings,
    conditions: Conditions,
    progress: Progress,
    cancelled: Callable[[], bool],
    look: Callable[[RunPlaces, Followed], None] | None = None,
) -> Trial:
    """Launch, measure and stop; a trial that fails is a result with its reason, not an error.

    Args:
        label: A or B.
        number: place in the order of launches, from 1.
        settings: what it is launched with.
        conditions: what is launched, and how it is measured.
        progress: told as it goes.
        cancelled: asked often.
        look: called once it is measured, while it still runs or has just ended.

    Raises:
        PerftuiError: it cannot be stopped, so that nothing else may be launched.
    """
    began_unix, began = time.time(), time.monotonic()
    try:
        places = launch(_spec(number, settings, conditions))
    except PerftuiError as error:
        return Trial(_never_started(label, settings, str(error), began_unix))
    launched_s = time.monotonic() - began
    try:
        followed = Follower(
            places,
            settings,
            conditions.se_wanted,
            conditions.caps,
            progress,
            cancelled,
            conditions.promise,
            conditions.prospect,
            launched_s,
        ).follow()
        if look is not None and followed.end == "enough":
            look(places, followed)
    except BaseException:
        stop_trial(places, [])
        raise
    record = stop_trial(places, trainers_of([rank.pid for rank in followed.collector.ranks.values()]))
    shutil.rmtree(places.scratch, ignore_errors=True)
    measured = launch_of(label, places.run_id, settings, followed, record, launched_s, began_unix)
    return Trial(measured, followed.steps_s, followed.collector.losses, followed.end == "cancelled")


def _spec(number: int, settings: Settings, conditions: Conditions) -> LaunchSpec:
    subject = conditions.subject
    return LaunchSpec(
        command=without_restarts(subject.command),
        cwd=subject.cwd,
        settings=settings,
        name=f"{subject.name}-trial-{number}",
        trial=True,
        parent=subject.run_id,
        die_with=True,
        stdio="log",
        seed=conditions.seed,
        env=NO_RESTARTS,
        gpu_readings=subject.gpu_readings,
        gpu_interval_s=subject.gpu_interval_s,
        arguments=subject.arguments,
    )


def stop_trial(places: RunPlaces, trainers: list[tuple[int, int]]) -> ExitRecord:
    """Stop a trial unless it has ended.

    Raises:
        PerftuiError: it has not ended in time.
    """
    record = wait_for_exit(places, 0)
    if record is None:
        request_stop(places, "relaunch", trainers, grace_s=_GRACE_S)
        record = wait_for_exit(places, _STOPPED_WITHIN_S)
    if record is None:
        raise PerftuiError(f"the trial {places.run_id} could not be stopped: nothing else is launched")
    if record.outcome == "lost":  # its keeper was killed, and cannot clear away any more
        description = read_record(places.description, RunDescription)
        left = end_orphan(description, _CLEARED_WITHIN_S) if description else []
        if left:
            raise PerftuiError(f"processes {left} of the trial {places.run_id} cannot be ended")
    return record


def _never_started(label: Label, settings: Settings, reason: str, began_unix: float) -> Launch:
    return Launch(
        run_id="",
        label=label,
        settings=settings,
        outcome="died_at_start",
        note=reason,
        host=socket.gethostname(),
        started_unix=began_unix,
    )


def launch_of(
    label: Label,
    run_id: str,
    settings: Settings,
    followed: Followed,
    record: ExitRecord | None,
    launched_s: float,
    began_unix: float,
) -> Launch:
    """Return the ledger's record of a launch that was followed; `record` None: it goes on."""
    collector = followed.collector
    outcome = _outcome(followed, record)
    measured = followed.end == "enough" and outcome not in BROKEN
    estimate = followed.assessment.estimate if measured else None
    steps = followed.assessment.steady_steps
    steady_s = followed.steps_s[followed.assessment.warm_steps :]
    return Launch(
        run_id=run_id,
        label=label,
        settings=settings,
        outcome=outcome,
        steps=steps,
        warm_steps=followed.assessment.warm_steps,
        log_step_s=estimate.log_step_s if estimate else None,
        se=estimate.se if estimate else None,
        df=estimate.df if estimate else None,
        se_wanted=followed.se_wanted,
        step_ms=1000 * sum(steady_s) / len(steady_s) if steady_s else None,
        epoch_starts=collector.epoch_starts(followed.assessment.warm_steps),
        samples_per_s=collector.samples_per_s(),
        startup_s=None if followed.first_step_s is None else launched_s + followed.first_step_s,
        loss=collector.losses[max(collector.losses)] if collector.losses else None,
        host=socket.gethostname(),
        gpu_uuids=sorted({rank.gpu_uuid for rank in collector.ranks.values() if rank.gpu_uuid}),
        effective=collector.effective(),
        load_1m=collector.load_1m,
        note=_note(followed, record),
        started_unix=began_unix,
        settled=followed.assessment.settled,
        foreign_cores=collector.foreign_cores(),
        samples_per_step=collector.samples_per_step(),
        tokens_per_step=collector.tokens_per_step(),
        circumstances=collector.circumstances(),
        wall_s=followed.elapsed_s,
        ended_by=followed.ended_by if followed.end == "enough" else None,
    )


def _outcome(followed: Followed, record: ExitRecord | None) -> Outcome:
    if record is None:
        return "running"
    if record.stopped_by == "relaunch" and followed.end == "failed":
        return "failed"
    return record.outcome


def _note(followed: Followed, record: ExitRecord | None) -> str | None:
    if followed.end == "cancelled":
        return "given up"
    reason = followed.reason
    if reason is None and record is not None and record.outcome in BROKEN:  # after it had been measured
        reason = broken_words(followed.collector.newest_step(), None)
    if reason is None:
        return None
    last = next((line for line in reversed(record.last_lines) if line.strip()), "") if record else ""
    over = followed.over or followed.reason is None
    return (f"{reason}: {last}" if last and last not in reason and over else reason)[:500]
