"""How a training is started for good: after trials, or after what measured it has been killed."""

import msgspec

from perftui.ipc.errors import PerftuiError
from perftui.ipc.run_files import write_record
from perftui.ipc.settings import Settings
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.runs import list_runs, successor_of
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch
from perftui.trainer.tuning.broken_off import settle
from perftui.trainer.tuning.journal import Underway, take_broken_off
from perftui.trainer.tuning.subject import Subject, find_subject, run_command


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

    The original settings: nothing has been proved faster.
    """
    told: list[str] = []
    for broken in take_broken_off(lambda each: each.plan.run_id == run_id):
        told.append(settle(broken))
        if broken.stopped and broken.plan.go_live:
            told.append(_start_again(broken))
    return "; ".join(told) or None


def _start_again(broken: Underway) -> str:
    subject = find_subject(broken.plan)
    there = successor_of(broken.plan.run_id or "", list_runs())
    if there is not None:
        return f"{there.run_id} has taken its place"
    try:
        places = launch(live_spec(subject, broken.before))
    except (PerftuiError, OSError) as error:
        return f"it could not be started again ({error}): {run_command(broken.command, broken.before)}"
    words = f"the training was started again as it was: {places.run_id}"
    if subject.places is not None:
        view = msgspec.structs.replace(
            broken.view, state="failed", message=f"broken off; {words}", successor=places.run_id
        )
        write_record(subject.places.relaunch, _without_launches_under_way(view))
    return words


def _without_launches_under_way(view: RelaunchView) -> RelaunchView:
    ended = [each for each in view.launches if each.state in ("done", "failed")]
    return msgspec.structs.replace(view, launches=ended)
