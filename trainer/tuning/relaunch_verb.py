"""`perftui relaunch RUN --set …`: what the key in the dashboard does, from a command line.

A live run is relaunched by its own hub, so that dashboards see it too and this command may go away. A run
that has ended is only measured, in this process.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from perftui.ipc.crowded import crowded_words
from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import RelaunchCommand, Update
from perftui.ipc.errors import NoSuchRun, Refused
from perftui.ipc.harmless import harmless, harmless_json
from perftui.ipc.places import run_places
from perftui.ipc.run_files import RunDescription, read_record, write_bytes
from perftui.ipc.settings import Settings, environment_of, format_value, semantics_of
from perftui.ipc.view import RelaunchView
from perftui.trainer.telemetry.host import effective_cpus
from perftui.trainer.tuning.alone import require_free_gpus
from perftui.trainer.tuning.follow_relaunch import FollowRelaunch, ProgressLines
from perftui.trainer.tuning.plan import Caps, RelaunchPlan, caps_of
from perftui.trainer.tuning.price import price_of_trials
from perftui.trainer.tuning.relaunch import relaunch
from perftui.trainer.tuning.search.host_at_rest import crowd_words
from perftui.trainer.tuning.subject import Subject, check_change, find_subject
from perftui.trainer.tuning.trial_command import HARMLESS

RELAUNCH_SCHEMA = 1


class RelaunchDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`perftui relaunch --json`."""

    schema: int = RELAUNCH_SCHEMA
    run_id: str
    relaunch: RelaunchView


def relaunch_verb(
    run_id: str,
    change: Settings,
    *,
    trial: bool = True,
    yes: bool = False,
    beside: bool = False,
    json_target: str | None = None,
    caps: Caps | None = None,
    write: Callable[[str], object] = sys.stderr.write,
    ask: Callable[[str], str] | None = None,
) -> int:
    """Relaunch a run with a change, showing how it goes, and return the exit code: 0 with a verdict, else 1.

    Args:
        run_id: the run.
        change: settings to alter, parsed.
        trial: False switches at once.
        yes: do not ask.
        beside: measure a run that has ended also on a GPU on which a live run trains.
        json_target: a file for the result as JSON, `-` for stdout, None for none.
        caps: limits of the trials of a run that has ended; a live run's hub uses its own.
        write: takes progress, line by line.
        ask: asks a person, as `input` does; None where there is nobody to ask.

    Raises:
        NoSuchRun, Refused, UsageError, ConnectionLost: nothing was changed.
    """
    if read_record(run_places(run_id).description, RunDescription) is None:
        raise NoSuchRun(f"no run {run_id!r}; `perftui ls` lists them")
    plan = RelaunchPlan(run_id=run_id, set=change, trial=trial, caps=caps or Caps())
    subject = find_subject(plan)
    plan = _with_price(_with_finding(plan, subject.live), subject)
    check_change(plan, subject, effective_cpus())
    if subject.live is None and trial and not beside:
        require_free_gpus({**os.environ, **environment_of({**subject.before, **change})})
    write(harmless(preview(subject, plan)))
    crowd = crowd_words() if subject.live is None and trial else None
    if crowd:
        write(f"  {crowd}\n")
    if not yes and not _agreed(ask):
        raise Refused("not agreed to: nothing was changed; `--yes` agrees beforehand")
    lines = ProgressLines(write)
    view = _of_live(plan, lines) if subject.live else _of_ended(plan, lines)
    _write_json(json_target, RelaunchDocument(run_id=run_id, relaunch=view))
    return 0 if view.state == "done" else 1


def _agreed(ask: Callable[[str], str] | None) -> bool:
    return ask is not None and ask("Go on? [y/N] ").strip().lower() in ("y", "yes")


def preview(subject: Subject, plan: RelaunchPlan) -> str:
    """Return what will be altered, how long it takes, and what is lost: some lines of text."""
    in_force = subject.in_force
    lines = [f"{' '.join(subject.command)}  ({subject.run_id})"]
    for name, value in plan.set.items():
        old = format_value(in_force[name]) if name in in_force else "—"
        lines.append(f"  {name}: {old} → {format_value(value)}")
    semantics = semantics_of(plan.set, subject.arguments)
    if semantics != "neutral":
        lines.append(f"  this change is `{semantics}`: the training itself comes out differently")
    lines += _time_lines(subject, plan)
    lines += [f"  {HARMLESS}"] if plan.trial else []
    if subject.live is not None:
        header = subject.live.view.header
        steps = f"{header.step} steps, " if header.step is not None else ""
        lines.append(
            f"  {subject.run_id} is stopped, and the winner starts from step 0: {steps}"
            f"{header.elapsed_s / 60:.1f} min of progress are lost, unless the script resumes by itself"
        )
    return "".join(f"{line}\n" for line in lines)


def _time_lines(subject: Subject, plan: RelaunchPlan) -> list[str]:
    if not plan.trial:
        return ["  without trials: it is switched at once, and the verdict stays provisional"]
    if subject.live is None:
        most = f"{plan.caps.seconds / 60:.0f} min of steps each at most"
        return [f"  one to four trials, {most}; nothing is started afterwards"]
    view = subject.live.view
    price = price_of_trials(view.header, view.ranks, plan.set, plan.expected, plan.caps)
    if price is None:
        told = "  one to four trials; no step has been measured yet, so their time is not known"
    else:
        most_s = plan.most_s or price.longest_s
        told = f"  one to four trials: about {price.shortest_s / 60:.1f} min, {most_s / 60:.1f} min at most"
    host = next(iter(view.hosts or ()), None)
    crowd = crowded_words(host.others_busy, host.cpus) if host else None
    return [told, *([f"  {crowd}"] if crowd else [])]


def _with_price(plan: RelaunchPlan, subject: Subject) -> RelaunchPlan:
    """Return the plan with the time that its user is told: the trials are held to it."""
    if subject.live is None or not plan.trial:
        return plan
    caps = caps_of(subject.trial_seconds)
    view = subject.live.view
    price = price_of_trials(view.header, view.ranks, plan.set, plan.expected, caps)
    return msgspec.structs.replace(plan, most_s=price.longest_s if price else None, caps=caps)


def _of_live(plan: RelaunchPlan, lines: ProgressLines) -> RelaunchView:
    places = run_places(plan.run_id or "")
    command = RelaunchCommand(
        command_id=new_command_id(),
        set=plan.set,
        trial=plan.trial,
        finding=plan.finding,
        bound=plan.bound,
        expected=plan.expected,
        most_s=plan.most_s,
    )
    return FollowRelaunch(places, command, lines.take).follow()


def _with_finding(plan: RelaunchPlan, picture: Update | None) -> RelaunchPlan:
    """Return the plan with what the finding that proposes just this change says of it, if one does."""
    for finding in picture.view.findings if picture else []:
        remedy = finding.remedy
        if remedy is not None and remedy.set == plan.set:
            return msgspec.structs.replace(
                plan, finding=finding.code, bound=remedy.bound, expected=remedy.expected
            )
    return plan


def _of_ended(plan: RelaunchPlan, lines: ProgressLines) -> RelaunchView:
    given_up = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: given_up.set())
    try:
        return relaunch(msgspec.structs.replace(plan, go_live=False), lines.take, given_up.is_set)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_json(target: str | None, document: RelaunchDocument) -> None:
    if target is None:
        return
    data = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    if target == "-":
        sys.stdout.buffer.write(harmless_json(data.decode()).encode())
        sys.stdout.buffer.flush()
    else:
        write_bytes(Path(target), data)
