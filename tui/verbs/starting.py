"""`run`, `demo` and `replay`: what starts a training, or shows one again."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from perftui.ipc.errors import UsageError
from perftui.ipc.places import current_folder
from perftui.tui.verbs.dashboard import check_size, load_dashboard, no_dashboard, run_with_dashboard
from perftui.tui.verbs.output import write_lines

if TYPE_CHECKING:
    from perftui.ipc.profile_schedule import ProfileSchedule


def run(parsed: argparse.Namespace) -> int:
    """Start a training under supervision."""
    from perftui.ipc.settings import parse_assignments
    from perftui.trainer.launch.foreground import run_in_foreground
    from perftui.trainer.launch.host_plan import HostsWish, planned
    from perftui.trainer.launch.project_file import mapped_arguments
    from perftui.trainer.launch.pruning import keep_of
    from perftui.trainer.launch.spec import LaunchSpec
    from perftui.trainer.telemetry.gpu_rates import INTERVAL_VARIABLE, check_interval, interval_of

    for name in ("steps", "seconds"):
        value = getattr(parsed, name)
        if value is not None and value <= 0:
            raise UsageError(f"--{name} {value}: expected a number above 0")
    keep_of(os.environ)  # the hub's to do; a word that makes no sense is told now
    headless = parsed.no_tui or no_dashboard() is not None
    asked_s = parsed.gpu_interval
    interval_s = (
        interval_of(os.environ.get(INTERVAL_VARIABLE))
        if asked_s is None
        else check_interval(asked_s, "--gpu-interval")
    )
    schedule = schedule_wanted(parsed, headless=headless)
    folder = current_folder()
    arguments = mapped_arguments(folder, parsed.map)
    spec = LaunchSpec(
        command=parsed.command,
        cwd=folder,
        settings=parse_assignments(parsed.set, arguments),
        arguments=arguments,
        name=parsed.name,
        steps_limit=parsed.steps,
        seconds_limit=parsed.seconds,
        stdio="pipes" if headless else "pty",
        gpu_readings=not parsed.no_nvml,
        gpu_interval_s=interval_s,
        profile_schedule=schedule,
        hosts=planned(HostsWish(parsed.lead, parsed.join, parsed.key), parsed.command, dict(os.environ)),
    )
    return run_in_foreground(spec, parsed.json) if headless else run_with_dashboard(spec, parsed.json, parsed)


def schedule_wanted(parsed: argparse.Namespace, *, headless: bool) -> "ProfileSchedule | None":
    """Return which windows open by themselves.

    A bounded run without a dashboard whose summary is wanted is a diagnosis by intent: it has one window,
    unless others were asked for, or none at all.
    """
    from perftui.ipc.profile_schedule import first_window, schedule_in, schedule_of

    asked = schedule_of(parsed.profile_every, parsed.profile_on_jump, parsed.profile_most, look=parsed.look)
    asked = asked or schedule_in(os.environ)
    if asked is not None or parsed.no_window or first_window(os.environ) is not None:
        return asked
    bounded = headless and parsed.seconds is not None and parsed.json is not None
    return schedule_of(None, None, None, look=True) if bounded else None


def demo(parsed: argparse.Namespace) -> int:
    """Run a built-in demonstration."""
    from perftui.trainer.launch.demo_stage import demo_lines, demo_spec

    if parsed.list:
        write_lines(demo_lines())
        return 0
    if not (parsed.no_tui or parsed.json or no_dashboard() is not None):
        return run_with_dashboard(demo_spec(parsed.name, "pty"), None, parsed)
    from perftui.trainer.launch.demo import run_demo

    return run_demo(parsed.name, as_json=parsed.json)


def replay(parsed: argparse.Namespace) -> int:
    """Show a recorded run."""
    if parsed.speed <= 0:
        raise UsageError(f"--speed {parsed.speed:g}: expected a number above 0")
    from perftui.trainer.launch.replay import replayed, summary_of_recording

    if no_dashboard() is not None:
        from perftui.trainer.launch.plain_text import status_text

        write_lines(status_text(summary_of_recording(_recording(parsed.file))))
        return 0
    check_size()
    run_dashboard = load_dashboard(parsed)
    with replayed(_recording(parsed.file), at_end=parsed.at_end, speed=parsed.speed) as run_id:
        return run_dashboard(run_id, recorded=True)


def _recording(named: Path) -> Path:
    """Return the folder that was named, or that of the run whose id or name it is."""
    if named.exists():
        return named
    from perftui.ipc.errors import NoSuchRun
    from perftui.ipc.places import run_places
    from perftui.trainer.launch.runs import find_run, list_runs

    try:
        return run_places(find_run(str(named), list_runs()).run_id).state
    except NoSuchRun:
        return named  # what reads it says that there is none
