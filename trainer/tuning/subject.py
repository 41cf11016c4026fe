"""What a relaunch is about: the command, how it runs now, and whether the change is possible at all.

Everything here only reads. A refusal leaves the live run as it was.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.ipc.facts import RankFacts
from perftui.ipc.figures import counted
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.prerequisites import Told, why_impossible
from perftui.ipc.profile_schedule import ProfileSchedule
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.settings import NO_ARGUMENTS, Settings, combined, format_value, setting
from perftui.ipc.told_text import is_exact, told
from perftui.trainer.launch.start import exit_of, require_seen
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.predictor import most_processes

_SNAPSHOT_S = 15.0


@dataclass(frozen=True)
class Subject:
    """What is measured."""

    command: list[str]
    cwd: Path
    name: str
    before: Settings
    """Settings that A is launched with."""
    places: RunPlaces | None = None
    """Of the run that it came from."""
    live: Update | None = None
    """The run as it stands; None when nothing runs."""
    steps_limit: int | None = None
    seconds_limit: float | None = None
    trial_seconds: float | None = None
    interpreter: str | None = None
    gpu_readings: bool = True
    gpu_interval_s: float | None = None
    profile_schedule: ProfileSchedule | None = None
    """Of the run that goes on; trials open no windows."""
    arguments: dict[str, ArgumentTemplate] = field(default_factory=dict[str, ArgumentTemplate])
    """How the script takes what `arg.NAME` sets."""

    @property
    def run_id(self) -> str | None:
        """The run that it came from."""
        return self.places.run_id if self.places else None

    @property
    def in_force(self) -> Settings:
        """Settings as read back from the live run, over the ones that were asked for."""
        ranks = self.live.view.ranks if self.live else []
        lead = min(ranks, key=lambda rank: rank.rank, default=None)
        return {**self.before, **(lead.settings if lead else {})}

    @property
    def ranks(self) -> int:
        """Ranks on this host; 1 when nothing runs."""
        return max(1, len(self.live.view.ranks)) if self.live else 1

    def trainers(self) -> list[tuple[int, int]]:
        """Return (pid, start ticks) of the live ranks."""
        return trainers_of([rank.pid for rank in self.live.view.ranks]) if self.live else []


def trainers_of(pids: Sequence[int]) -> list[tuple[int, int]]:
    """Return (pid, start ticks) of those that live."""
    found = [(pid, start_ticks(pid)) for pid in pids]
    return [(pid, ticks) for pid, ticks in found if ticks is not None]


def find_subject(plan: RelaunchPlan) -> Subject:
    """Return what the plan is about.

    Raises:
        NoSuchRun: there is no such run.
        Refused: its launch is not ours, it is on another host, or as `check_words`.
        ConnectionLost: it runs, and its hub does not answer.
        UsageError: neither a run nor a command.
    """
    if plan.run_id is None:
        if not plan.command:
            raise UsageError("a relaunch needs a run or a command")
        check_words(plan.command, plan.cwd or ".")
        return Subject(
            plan.command,
            Path(plan.cwd or "."),
            plan.name or "tune",
            dict(plan.before),
            arguments=plan.arguments,
        )
    places = run_places(plan.run_id)
    description = read_record(places.description, RunDescription)
    if description is None:
        raise NoSuchRun(f"no run {plan.run_id!r}; `perftui ls` lists them")
    if not description.owned:
        raise Refused(not_owned(description, plan.set))
    if description.hosts is not None:
        raise Refused(not_on_all_hosts(description, plan.set))
    require_seen(description, places)
    check_words(description.command, description.cwd)
    return Subject(
        command=description.command,
        cwd=Path(description.cwd),
        name=description.name,
        before=dict(description.settings),
        places=places,
        live=live_picture(places) if exit_of(places) is None else None,
        steps_limit=description.steps_limit,
        seconds_limit=description.seconds_limit,
        trial_seconds=description.trial_seconds,
        interpreter=description.interpreter,
        gpu_readings=description.gpu_readings,
        gpu_interval_s=description.gpu_interval_s,
        profile_schedule=description.profile_schedule,
        arguments=description.arguments,
    )


def check_words(command: Sequence[str], cwd: str) -> None:
    """Refuse a command that is not written down as it was typed: another one would be launched.

    Raises:
        Refused: a word, or the folder it was typed in, is no UTF-8.
    """
    for word in (*command, cwd):
        if not is_exact(word):
            raise Refused(
                f"{told(word)!r} is not UTF-8, so it cannot be launched again from what is written down; "
                "give it another name (`perftui run` watches it as it is)"
            )


def live_picture(places: RunPlaces) -> Update:
    """Return a snapshot from the hub of a run that goes on.

    Raises:
        ConnectionLost: it does not answer.
    """
    link = DashboardLink(places.dashboard_socket)
    try:
        return link.snapshot(_SNAPSHOT_S)
    finally:
        link.close()


def not_owned(description: RunDescription, change: Settings) -> str:
    """Say that a run cannot be relaunched by us, and how its user can do it."""
    return (
        f"{description.run_id} was not started by `perftui run`, so it can be watched and not relaunched; "
        f"start it with the change by: {run_command(description.command, change)}"
    )


def not_on_all_hosts(description: RunDescription, change: Settings) -> str:
    """Say that a run over several hosts cannot be relaunched from one, and what its user does on each."""
    settings = {**description.settings, **change}
    return (
        f"{description.run_id} runs on several hosts, each started by its own command: it is not relaunched "
        "from here. Start it on every host with the change, and with --key, --lead or --join as before, by: "
        f"{run_command(description.command, settings)}"
    )


def run_command(command: Sequence[str], settings: Settings) -> str:
    """Return the line that starts a command with settings."""
    return shlex.join(run_words(command, settings))


def run_words(
    command: Sequence[str], settings: Settings, arguments: Mapping[str, ArgumentTemplate] = NO_ARGUMENTS
) -> list[str]:
    """Return the words that start a command with settings.

    Args:
        command: of the training.
        settings: to start it with.
        arguments: how the script takes what `arg.NAME` sets, where the project does not say it.
    """
    mapped = [
        word
        for name, each in arguments.items()
        if f"arg.{name}" in settings
        for word in ("--map", f"{name}:{each.semantics}={each.template}")
    ]
    chosen = [word for name, v in settings.items() for word in ("--set", f"{name}={format_value(v)}")]
    return ["perftui", "run", *mapped, *chosen, "--", *command]


def check_change(plan: RelaunchPlan, subject: Subject, cpus: float) -> None:
    """Refuse a change that changes nothing, or that this host cannot carry.

    Raises:
        UsageError: an unknown setting, or none.
        Refused: with the reason.
    """
    if not plan.set:
        raise UsageError("no setting to change; name one, as in --set loader.num_workers=4")
    for name in plan.set:
        setting(name, subject.arguments)
    after = combined(subject.before, plan.set)
    if plan.trial and not plan.confirmed:
        raise Refused("trials of this command have not been agreed to")
    in_force = subject.in_force
    if all(name in in_force and in_force[name] == value for name, value in plan.set.items()):
        told = ", ".join(f"{name}={format_value(value)}" for name, value in plan.set.items())
        raise Refused(f"{told} is in force already: there is nothing to compare")
    _check_prerequisites(plan.set, after, subject)
    workers = {**in_force, **plan.set}.get("loader.num_workers")
    if isinstance(workers, int) and "loader.num_workers" in plan.set:
        _check_workers(workers, subject.ranks, cpus)


def _check_prerequisites(change: Settings, after: Settings, subject: Subject) -> None:
    """Refuse what the live run shows to be impossible; what it does not tell is left to the trial."""
    reasons = why_impossible(after, told_of(subject), subject.arguments)
    for name in change:
        if name in reasons:
            raise Refused(f"{name}={format_value(after[name])} cannot be applied: {reasons[name]}")


def told_of(subject: Subject) -> Told:
    """Return what is known of the training that settings may depend on."""
    ranks = subject.live.view.ranks if subject.live else []
    lead = min(ranks, key=lambda rank: rank.rank, default=None)
    return Told(
        device=None if lead is None or lead.device == "unknown" else lead.device,
        facts=lead.facts if lead and lead.facts else RankFacts(),
        in_force=subject.in_force,
        command=tuple(subject.command),
    )


def _check_workers(workers: int, ranks: int, cpus: float) -> None:
    most = most_processes(cpus)
    if workers * ranks > most:
        raise Refused(
            f"{counted(workers, 'worker')} for each of {counted(ranks, 'rank')} would be {workers * ranks} "
            f"processes; this host has {counted(cpus, 'core')} to use, and more than {most:g} would only get "
            "in each other's way"
        )
