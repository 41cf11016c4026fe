"""What is asked of a launch. Apart because commands, dashboards and the tuner all ask with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.profile_schedule import ProfileSchedule
from perftui.ipc.settings import SettingValue
from perftui.trainer.launch.host_plan import HostsLaunch

Stdio: TypeAlias = Literal["pty", "pipes", "log"]
"""pty: a pseudo-terminal, so that progress bars draw (stdin is empty). pipes: passed on to this process's own
stdout and stderr, byte for byte (stdin is handed down). log: only kept in `console.log` (stdin is empty)."""


@dataclass(frozen=True)
class LaunchSpec:
    """One start of a training."""

    command: list[str]
    cwd: Path
    settings: dict[str, SettingValue] = field(default_factory=dict[str, SettingValue])
    name: str | None = None
    """None: taken from the command."""
    trial: bool = False
    """Harmless to the user's files: saves go to a scratch folder, trackers stay offline."""
    parent: str | None = None
    """The run that this one replaces or measures for."""
    steps_limit: int | None = None
    seconds_limit: float | None = None
    die_with: bool = False
    """End the training when the launching process ends."""
    trial_seconds: float | None = None
    """Most seconds that one trial of this command may measure; None: as the procedure needs."""
    stdio: Stdio = "pty"
    seed: int | None = None
    env: dict[str, str] = field(default_factory=dict[str, str])
    """More environment variables for the training; they win over all others."""
    gpu_readings: bool = True
    """False: the hub leaves the GPU libraries alone."""
    gpu_interval_s: float | None = None
    """Between two fast readings of the GPUs; None: the default."""
    profile_schedule: ProfileSchedule | None = None
    """Profiling windows that open by themselves; None: none do."""
    arguments: dict[str, ArgumentTemplate] = field(default_factory=dict[str, ArgumentTemplate])
    """How the script takes what `arg.NAME` sets."""
    hosts: HostsLaunch | None = None
    """This host's place in a run over several; None: the run has one host."""
