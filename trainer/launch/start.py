"""Starts a training with its keeper and hub, waits for its end, and asks for its stop.

The launcher does not stay: what it starts lives on without it, unless `die_with` says otherwise.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from perftui.ipc.audit import note, this_process
from perftui.ipc.errors import LaunchFailed, Refused, UsageError
from perftui.ipc.pid_space import own_pid_space
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import (
    AppliedSettings,
    ExitRecord,
    RunDescription,
    StopRequest,
    read_record,
    write_bytes,
    write_record,
)
from perftui.trainer.launch.altered_command import altered_command, argument_words
from perftui.trainer.launch.command_line import require_script
from perftui.trainer.launch.environment import clean_environment, training_additions
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.host_plan import with_key_written
from perftui.trainer.launch.interpreter import InterpreterCheck, check_interpreter
from perftui.trainer.launch.keeper_alive import is_elsewhere, keeper_is_alive
from perftui.trainer.launch.keeper_files import KeeperOrder, take_reserve
from perftui.trainer.launch.leftovers import clear_leftovers
from perftui.trainer.launch.outcome import last_lines
from perftui.trainer.launch.run_names import name_of, new_run_id
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.telemetry.processes import start_ticks

_POLL_S = 0.05
_LOST_EXIT_CODE = 1


def hub_command(run_id: str) -> list[str]:
    """Return the command that starts a run's hub."""
    return [sys.executable, "-m", "perftui.trainer.hub", run_id]


def check_launch(spec: LaunchSpec) -> InterpreterCheck:
    """Ask the command's interpreter whether the launch can work.

    Raises:
        UsageError: no command, or no such folder to start in.
        CommandNotFound: the command, or the script that it names, does not exist.
        Refused: its Python lacks what the probe needs.
    """
    if not spec.cwd.is_dir():
        raise UsageError(f"{spec.cwd}: no such folder to start in")
    require_script(spec.command, spec.cwd)
    return check_interpreter(spec.command, spec.cwd, {**clean_environment(dict(os.environ)), **spec.env})


def launch(
    spec: LaunchSpec, check: InterpreterCheck | None = None, *, hub: Sequence[str] | None = None
) -> RunPlaces:
    """Start the training, its keeper and its hub, and return as soon as the command runs.

    Args:
        spec: what to start.
        check: what `check_launch` found, if it was asked before.
        hub: another command for the hub; empty for none.

    Raises:
        UsageError, CommandNotFound, Refused: as `check_launch`, settings that cannot be written into the
            command or exclude each other, or the run's files cannot be written.
        LaunchFailed: the keeper could not be started.
    """
    check = check_launch(spec) if check is None else check
    altered = altered_command(spec)
    name = spec.name or name_of(spec.command)
    clear_leftovers()
    places = make_run_places(new_run_id(name))
    environment = clean_environment(dict(os.environ))
    order = KeeperOrder(
        run_id=places.run_id,
        command=altered,
        cwd=str(spec.cwd),
        additions=training_additions(places, spec, check, environment),
        stdio=spec.stdio,
        hub=hub_command(places.run_id) if hub is None else list(hub),
        temporary=str(places.temporary) if spec.trial else None,
        die_with=(os.getpid(), start_ticks(os.getpid()) or 0) if spec.die_with else None,
    )
    try:
        _write_files(places, spec, check, name)
        # unlike msgspec it keeps what is no UTF-8: these very words are started
        write_bytes(places.state / "keeper.json", json.dumps(asdict(order)).encode())
        take_reserve(places.state)
    except BaseException as error:
        for folder in (places.state, places.runtime):
            shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        raise Refused(
            f"{places.state} cannot be written ({error.strerror}); free space there, or set XDG_STATE_HOME"
        ) from error
    _start_keeper(places, spec, environment)
    return places


def _write_files(places: RunPlaces, spec: LaunchSpec, check: InterpreterCheck, name: str) -> None:
    if spec.trial:
        places.scratch.mkdir(mode=0o700, exist_ok=True)
        places.temporary.mkdir(mode=0o700, exist_ok=True)
    applied = AppliedSettings(
        settings=spec.settings,
        trial=spec.trial,
        scratch=str(places.scratch) if spec.trial else None,
        seed=spec.seed,
        words=argument_words(spec),
    )
    write_record(places.settings_file, applied)
    description = RunDescription(
        run_id=places.run_id,
        name=name,
        command=spec.command,
        cwd=str(spec.cwd),
        host=socket.gethostname(),
        started_unix=time.time(),
        started_monotonic_s=time.monotonic(),
        pid_space=own_pid_space(),
        settings=spec.settings,
        trial=spec.trial,
        parent=spec.parent,
        steps_limit=spec.steps_limit,
        seconds_limit=spec.seconds_limit,
        interpreter=check.path,
        trial_seconds=spec.trial_seconds,
        note=environment_line(check),
        gpu_readings=spec.gpu_readings,
        gpu_interval_s=spec.gpu_interval_s,
        profile_schedule=spec.profile_schedule,
        arguments=spec.arguments,
        hosts=with_key_written(spec.hosts, places) if spec.hosts is not None else None,
    )
    write_record(places.description, description)


def _start_keeper(places: RunPlaces, spec: LaunchSpec, environment: dict[str, str]) -> None:
    handed_down = None if spec.stdio == "pipes" else subprocess.DEVNULL
    done = subprocess.run(
        [sys.executable, "-m", "perftui.trainer.launch.keeper", str(places.state)],
        cwd=places.state,
        env=environment,
        stdin=handed_down,
        stdout=handed_down,
        stderr=handed_down,
        start_new_session=True,  # a Ctrl-C in our terminal is for us to forward
        close_fds=spec.stdio != "pipes",
        check=False,
    )
    if done.returncode:
        log = places.state / "keeper.log"
        lines = last_lines(log.read_text(encoding="utf-8", errors="replace"), 1) if log.exists() else []
        why = lines[0] if lines else f"see {log}"
        raise LaunchFailed(f"the keeper of {places.run_id} did not start: {why}")


def wait_for_exit(places: RunPlaces, timeout_s: float) -> ExitRecord | None:
    """Wait for the training's end; None when it has not ended in time.

    A keeper that vanished without a record gives one with the outcome `lost`.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        record = exit_of(places)
        if record is not None:
            return record
        if time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_S)


def exit_of(places: RunPlaces, known: RunDescription | None = None) -> ExitRecord | None:
    """Return how the training ended; None while it runs, or where that cannot be seen.

    Args:
        places: of the run.
        known: its description as it was read before, for when somebody has removed the run's folder.
    """
    record = read_record(places.exit_record, ExitRecord)
    if record is not None:
        return record
    description = read_record(places.description, RunDescription) or known
    if description is None or not description.owned or is_elsewhere(description):
        return None
    if keeper_is_alive(description):
        return None
    return read_record(places.exit_record, ExitRecord) or ExitRecord(
        exit_code=_LOST_EXIT_CODE, ended_unix=time.time(), outcome="lost", last_lines=console_lines(places)
    )


def require_seen(description: RunDescription, places: RunPlaces) -> None:
    """Refuse what is to be done to a run of which it cannot be seen from here whether it goes on.

    Raises:
        Refused: it is on another host or in another container, and no end is recorded.
    """
    if is_elsewhere(description) and not places.exit_record.exists():
        raise Refused(
            f"{places.run_id} is on {description.host}, not seen from here: give this command there"
        )


def console_lines(places: RunPlaces, count: int = 20) -> list[str]:
    """Return the last lines of the training's output."""
    try:
        with places.console.open("rb") as stream:
            stream.seek(max(0, places.console.stat().st_size - 64 * 1024))
            return last_lines(stream.read().decode("utf-8", "replace"), count)
    except OSError:
        return []


def request_stop(
    places: RunPlaces,
    stopped_by: str,
    trainers: Sequence[tuple[int, int]] = (),
    *,
    grace_s: float = 30.0,
) -> None:
    """Ask the keeper to stop the training by the ladder; a second, shorter request hurries it.

    Args:
        places: the run.
        stopped_by: `steps`, `seconds`, `user` or `relaunch`.
        trainers: (pid, start ticks) of the ranks as they said hello; none: the command itself is signalled.
        grace_s: how long the ranks have for a checkpoint.
    """
    request = StopRequest(stopped_by=stopped_by, trainers=list(trainers), grace_s=grace_s)
    write_record(places.stop_request, request)
    given: dict[str, object] = {"stopped_by": stopped_by, "grace_s": grace_s}
    note(places.audit, this_process(), "stop", "accepted", given=given)
