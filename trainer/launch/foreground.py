"""`perftui run` without a dashboard: the training's output, its signals and its exit code, passed through.

Also what both ways of running share: the summary at the end, as a file and as one line.
"""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import SummaryQuery
from perftui.ipc.errors import ConnectionLost, LaunchFailed, Refused
from perftui.ipc.harmless import harmless_json, one_line
from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_clock import RunClock
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record, write_bytes
from perftui.ipc.summary import Overhead, Summary
from perftui.ipc.view import HostView
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.host_plan import words_for_others
from perftui.trainer.launch.noted_interrupts import interrupts_noted
from perftui.trainer.launch.runs import list_runs, run_line, successor_of, watchable
from perftui.trainer.launch.signals import SignalInbox
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import check_launch, exit_of, launch

_POLL_S = 0.05
_SUMMARY_WAIT_S = 15.0
_FILE_WAIT_S = 2.0
"""After this the hub itself is asked: it may not be able to write."""
_ANSWER_S = 1.0
_HUB_START_S = 4.0
"""No hub for this long: none will come."""
_ANALYSIS_WAIT_S = 30.0
"""More, where a window is still being analysed; then the summary comes without it."""
_LIMITS = ("steps", "seconds")


def run_in_foreground(spec: LaunchSpec, json_target: str | None) -> int:
    """Launch, pass everything through, and return the code that `perftui run` ends with.

    Args:
        spec: what to start; its stdio should be `pipes`.
        json_target: where the summary goes: a file, `-` for stdout, None for nowhere.

    Raises:
        UsageError, CommandNotFound, Refused, LaunchFailed: the training was not started.
    """
    inbox = SignalInbox()
    inbox.install()
    try:
        check = check_launch(spec)
        _say(environment_line(check))
        places = launch(spec, check)
        _tell_other_hosts(places)
        # as long as it is there: somebody may remove the run's folder
        description = read_record(places.description, RunDescription)
        record = _wait(places, inbox, description)
    finally:
        inbox.close()
    return finish(places, record, json_target, description)


@contextmanager
def started_for_dashboard(spec: LaunchSpec, json_target: str | None) -> Generator[RunPlaces, None, None]:
    """Launch for a dashboard that opens within; say the environment check before it covers the screen.

    Ctrl-C before it has the keyboard reaches no training: then it is said that the run goes on.
    """
    check = check_launch(spec)
    _say(environment_line(check))
    with interrupts_noted() as noted:
        places = launch(spec, check)
        _tell_other_hosts(places)
    if noted:
        after_dashboard(places, json_target)
        raise KeyboardInterrupt
    try:
        yield places
    except KeyboardInterrupt:
        after_dashboard(places, json_target)
        raise


def _tell_other_hosts(places: RunPlaces) -> None:
    """Say what is to be given on the other hosts of a run that this one leads."""
    description = read_record(places.description, RunDescription)
    if description is not None and description.hosts is not None:
        for line in words_for_others(description.hosts):
            _say(line)


def after_dashboard(places: RunPlaces, json_target: str | None) -> int:
    """Say how things stand when the dashboard has been left: the training may well go on."""
    lines = list_runs()
    while (successor := successor_of(places.run_id, lines)) is not None:
        places = run_places(successor.run_id)
    run_id, record = places.run_id, exit_of(places)
    if record is not None and run_id in [line.run_id for line in watchable(lines)]:
        _say(f"a change of {run_id} is being measured; perftui {run_id} shows how it goes")
        return 0
    if record is not None:
        return finish(places, record, json_target)
    _say("the training goes on")
    _say(f"to see it again: perftui {run_id}")
    _say(f"to end it: perftui stop {run_id}")
    if json_target is not None:
        _say(f"no summary yet; later: perftui status {run_id} --json")
    return 0


def _wait(places: RunPlaces, inbox: SignalInbox, known: RunDescription | None) -> ExitRecord:
    while True:
        for number in inbox.wait(_POLL_S):
            description = read_record(places.description, RunDescription) or known
            if description and description.keeper_pid and description.keeper_start_ticks:
                send_signal(description.keeper_pid, description.keeper_start_ticks, number)
        record = exit_of(places, known)
        if record is not None:
            return record


def finish(
    places: RunPlaces, record: ExitRecord, json_target: str | None, known: RunDescription | None = None
) -> int:
    """Write the summary where it is wanted, say in one line how it went, and return the exit code.

    Args:
        places: of the run.
        record: its end.
        json_target: where the summary goes.
        known: its description as it was read before, for when somebody has removed the run's folder.
    """
    wanted = json_target is not None
    summary = wait_for_summary(places, _SUMMARY_WAIT_S if wanted else 1.0, known)
    if json_target == "-":
        sys.stdout.buffer.write(harmless_json(summary.decode()).encode())
        sys.stdout.buffer.flush()
    elif json_target is not None:
        _write_summary(Path(json_target), summary)
    for line in _not_applied(summary):
        _say(line)
    _say(_closing_line(places, record, summary))
    return exit_code_of(record)


def exit_code_of(record: ExitRecord) -> int:
    """Return the code that a shell would see; 0 when a limit that was asked for ended the run."""
    if record.stopped_by in _LIMITS:
        return 0
    return 128 - record.exit_code if record.exit_code < 0 else record.exit_code


def wait_for_summary(places: RunPlaces, timeout_s: float, known: RunDescription | None = None) -> bytes:
    """Return the hub's summary, or a minimal one when the hub does not write any."""
    now = time.monotonic()
    deadline, hub_seen = now + timeout_s, now
    analysed_by = now + (_ANALYSIS_WAIT_S if timeout_s >= _SUMMARY_WAIT_S else 0.0)
    unfinished: bytes | None = None
    while (now := time.monotonic()) < max(deadline, analysed_by if unfinished else 0.0) and (
        now - hub_seen < _HUB_START_S
    ):
        summary = ended_summary(places)
        if summary is not None and (now >= analysed_by or not _analyses(summary)):
            return summary
        unfinished = summary or unfinished
        if hub_lock_is_held(places.hub_lock):
            hub_seen = now
            asks = unfinished is None and now > deadline - timeout_s + _FILE_WAIT_S
            if asks and (summary := _told_by_hub(places)) is not None:
                return summary
        time.sleep(_POLL_S)
    return unfinished or minimal_summary(places, known)


def _told_by_hub(places: RunPlaces) -> bytes | None:
    """Ask the hub for what it could not write, on a full disk."""
    link = DashboardLink(places.dashboard_socket)
    try:
        told = link.ask(
            SummaryQuery(command_id=new_command_id()), _ANSWER_S, answer_s=_ANSWER_S
        ).result.encode()
    except (ConnectionLost, Refused):
        return None
    finally:
        link.close()
    return told if _is_of_the_end(told) else None


def ended_summary(places: RunPlaces) -> bytes | None:
    """Return `summary.json` if it is there and was written after the training's end."""
    try:
        data = places.summary.read_bytes()
    except OSError:
        return None
    return data if _is_of_the_end(data) else None


def _is_of_the_end(summary: bytes) -> bool:
    try:
        return msgspec.json.decode(summary, type=_Ending).exit_code is not None
    except msgspec.DecodeError:
        return False


class _Ending(msgspec.Struct, frozen=True):
    exit_code: int | None = None


class _WindowGlance(msgspec.Struct, frozen=True):
    state: str = ""


class _Windows(msgspec.Struct, frozen=True):
    profiles: list[_WindowGlance] = []


def _analyses(summary: bytes) -> bool:
    """Tell whether a window of the run is not done yet, so that a fuller summary follows."""
    windows = msgspec.json.decode(summary, type=_Windows).profiles
    return any(window.state in ("recording", "analysing") for window in windows)


def minimal_summary(places: RunPlaces, known: RunDescription | None = None) -> bytes:
    """Return a summary from the keeper's record alone, so that a script always finds one."""
    description = read_record(places.description, RunDescription) or known
    line, record = run_line(places), exit_of(places, known)
    if description is None or (line is None and record is None):
        raise LaunchFailed(f"{places.description} is gone: no summary can be made")
    message = "the run's hub left no summary; nothing was measured"
    summary = Summary(
        run_id=places.run_id,
        name=description.name,
        command=description.command,
        state=record.outcome if record else (line.state if line else "lost"),
        exit_code=record.exit_code if record else None,
        stopped_by=record.stopped_by if record else None,
        elapsed_s=(record.ended_unix if record else RunClock(description).unix()) - description.started_unix,
        settings=description.settings,
        ranks=[],
        gpus=[],
        host=HostView(name=description.host, age_s=0.0),
        findings=[],
        profiles=[],
        overhead=Overhead(),
        message=f"it is {line.state_words}: ask there" if line and line.elsewhere else message,
    )
    return msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n"


def _write_summary(path: Path, summary: bytes) -> None:
    try:
        if path.is_file() or not path.exists():
            write_bytes(path, summary)
        else:  # a pipe or a device
            path.write_bytes(summary)
    except OSError as error:
        _say(f"{path}: {error.strerror}; the summary was not written")


class _RankGlance(msgspec.Struct, frozen=True):
    steps: int = 0
    settings_failed: dict[str, str] = {}


class _FindingGlance(msgspec.Struct, frozen=True):
    code: str = ""
    sentence: str = ""
    under: str | None = None


class _Glance(msgspec.Struct, frozen=True):
    elapsed_s: float = 0.0
    ranks: list[_RankGlance] = []
    findings: list[_FindingGlance] = []


def _not_applied(summary: bytes) -> list[str]:
    """Return one line for each setting that could not be applied."""
    glance = msgspec.json.decode(summary, type=_Glance)
    said = {
        f"{name} could not be applied: {reason}": None
        for rank in glance.ranks
        for name, reason in rank.settings_failed.items()
    }
    return list(said)


def _closing_line(places: RunPlaces, record: ExitRecord, summary: bytes) -> str:
    glance = msgspec.json.decode(summary, type=_Glance)
    outcome: str = record.outcome
    if outcome == "died_at_start" and any(rank.steps for rank in glance.ranks):
        outcome = "failed"  # its steps reached the hub after its end was recorded
    how = f"stopped by {record.stopped_by}" if record.stopped_by else outcome.replace("_", " ")
    parts = [f"{places.run_id} {how}", f"exit code {record.exit_code}", f"{glance.elapsed_s:.0f} s"]
    if glance.ranks:
        parts.append(f"{max(rank.steps for rank in glance.ranks)} steps")
    elif record.outcome == "finished":
        parts.append(f"no training step was seen: {_why_no_step(places)}")
    if record.survivors:
        parts.append(f"could not end {', '.join(map(str, record.survivors))}")
    return ", ".join(parts) + _lead_words(glance.findings)


def _why_no_step(places: RunPlaces) -> str:
    """Tell a training that is none of torch's from one that the probe could not get into."""
    if places.probed.exists():
        return "neither an optimizer of torch nor `watch().step()`"
    return (
        "no process of the command imported torch with perftui's probe in it, which PYTHONPATH brings there; "
        'one that is set anew (write PYTHONPATH=".:$PYTHONPATH") or taken away (env -i), and -I, -E and -S '
        "of Python, keep it out"
    )


def _lead_words(findings: list[_FindingGlance]) -> str:
    """Return the leading finding, and what follows from it."""
    if not findings:
        return ""
    lead = findings[0]
    followers = ", ".join(dict.fromkeys(each.code for each in findings if each.under == lead.code))
    return f"; {lead.code}: {lead.sentence}" + (f" What follows from it: {followers}" if followers else "")


def _say(line: str) -> None:
    print(f"perftui: {one_line(line)}", file=sys.stderr, flush=True)  # noqa: T201
