"""How a training is started for good: after trials, or after what measured it has been killed."""

import time

import msgspec

from perftui.ipc.errors import PerftuiError
from perftui.ipc.settings import Settings
from perftui.trainer.launch.orphans import end_orphans
from perftui.trainer.launch.runs import list_runs, successor_of
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch
from perftui.trainer.tuning.broken_off import settle
from perftui.trainer.tuning.journal import Underway, take_broken_off
from perftui.trainer.tuning.subject import Subject, find_subject

_TRIALS_END_WITHIN_S = 60.0
_POLL_S = 0.2


def live_spec(subject: Subject, settings: Settings) -> LaunchSpec:
    """Return how a run is started in the place of the one that it came from."""
    return LaunchSpec(
        command=subject.command,
        cwd=subject.cwd,
        settings=settings,
        name=subject.name,
        parent=subject.run_id,
        steps_limit=subject.steps_limit,
        seconds_limit=subject.seconds_limit,
        trial_seconds=subject.trial_seconds,
        gpu_readings=subject.gpu_readings,
        gpu_interval_s=subject.gpu_interval_s,
        profile_schedule=subject.profile_schedule,
        arguments=subject.arguments,
    )


def bring_back(run_id: str) -> str | None:
    """Start a run again that a killed relaunch had stopped; return what became of it, None for nothing to do.

    With the original settings: nothing has been proved faster.
    """
    told: list[str] = []
    for broken in take_broken_off(lambda each: each.plan.run_id == run_id):
        _wait_for_trials(run_id)
        successor = _start_again(broken) if broken.stopped and broken.plan.go_live else None
        view = broken.view if successor is None else msgspec.structs.replace(broken.view, successor=successor)
        told.append(settle(msgspec.structs.replace(broken, view=view)))
    return "; ".join(told) or None


def _wait_for_trials(run_id: str) -> None:
    """Wait until the trials of a run have ended by themselves: they hold memory that the training needs."""
    deadline = time.monotonic() + _TRIALS_END_WITHIN_S
    while time.monotonic() < deadline:
        end_orphans()
        if not any(line.trial and line.running and line.parent == run_id for line in list_runs()):
            return
        time.sleep(_POLL_S)


def _start_again(broken: Underway) -> str | None:
    """Return the run that takes the place of the one that was stopped; None when it cannot be started."""
    there = broken.view.successor or _successor(broken.plan.run_id or "")
    if there is not None:
        return there
    try:
        return launch(live_spec(find_subject(broken.plan), broken.before)).run_id
    except (PerftuiError, OSError):
        return None  # what is told then has the command to start it by


def _successor(run_id: str) -> str | None:
    line = successor_of(run_id, list_runs())
    return None if line is None else line.run_id
