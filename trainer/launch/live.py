"""What commands ask of a run: its hub while it lives, its files when it has ended."""

import contextlib
from collections.abc import Iterator

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import (
    CancelProfileCommand,
    Done,
    ProfileCommand,
    StopCommand,
    SummaryQuery,
)
from perftui.ipc.errors import ConnectionLost, Refused
from perftui.ipc.messages import Preset
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.ipc.run_lines import RunLine
from perftui.trainer.launch.foreground import ended_summary, minimal_summary
from perftui.trainer.launch.start import request_stop, wait_for_exit

_ANSWER_S = 5.0
_STOP_S = 90.0
"""Grace, the agent's time, the kill and the verification together stay under this."""
_HURRIED_GRACE_S = 0.0


@contextlib.contextmanager
def linked(places: RunPlaces) -> Iterator[DashboardLink]:
    """Open a link to a run's hub for the length of a command."""
    link = DashboardLink(places.dashboard_socket)
    try:
        yield link
    finally:
        link.close()


def summary_of(line: RunLine) -> bytes:
    """Return the summary JSON of a run as it stands, or as it ended."""
    places = run_places(line.run_id)
    if line.running:
        with contextlib.suppress(ConnectionLost), linked(places) as link:
            done = link.ask(SummaryQuery(command_id=new_command_id()), _ANSWER_S)
            return done.result.encode()
    return ended_summary(places) or minimal_summary(places)


def stop(line: RunLine, *, at_once: bool) -> ExitRecord:
    """Stop a run by the ladder and wait for its end.

    Raises:
        Refused: it has ended, or was not started by `perftui run`.
        ConnectionLost: it did not end in time.
    """
    places = run_places(line.run_id)
    description = read_record(places.description, RunDescription)
    _require_running(line, "there is nothing to stop")
    if description is None or not description.owned:
        raise Refused(f"{line.run_id} was not started by `perftui run`: stop it where it was started")
    if at_once:
        request_stop(places, "user", grace_s=_HURRIED_GRACE_S)
    else:
        _ask_to_stop(places)
    record = wait_for_exit(places, _STOP_S)
    if record is None:
        raise ConnectionLost(f"{line.run_id} did not end within {_STOP_S:.0f} s; try: perftui stop --now")
    return record


def _require_running(line: RunLine, consequence: str) -> None:
    if line.elsewhere:
        raise Refused(f"{line.run_id} is {line.state_words}: give this command there")
    if not line.running:
        raise Refused(f"{line.run_id} has ended ({line.state}): {consequence}")


def _ask_to_stop(places: RunPlaces) -> None:
    """By way of the hub, which knows the ranks; without one the command itself is asked."""
    try:
        with linked(places) as link:
            link.ask(StopCommand(command_id=new_command_id()), _ANSWER_S)
    except ConnectionLost:
        if not places.stop_request.exists():
            request_stop(places, "user")


def profile(line: RunLine, *, steps: int, ranks: list[int] | None, preset: Preset, timeout_s: float) -> Done:
    """Open a profiling window and wait for its result.

    Raises:
        Refused: the run has ended, or its hub declines.
        ConnectionLost: the hub is silent, or the window did not end in time.
    """
    _require_running(line, "there is nothing to profile")
    command = ProfileCommand(command_id=new_command_id(), steps=steps, ranks=ranks, preset=preset)
    with linked(run_places(line.run_id)) as link:
        return link.ask(command, timeout_s)


def cancel_profile(line: RunLine) -> Done:
    """End the profiling window that is open, without a result.

    Raises:
        Refused: none is open, or the run has ended.
        ConnectionLost: the hub is silent.
    """
    _require_running(line, "no window is open")
    with linked(run_places(line.run_id)) as link:
        return link.ask(CancelProfileCommand(command_id=new_command_id()), _ANSWER_S)
