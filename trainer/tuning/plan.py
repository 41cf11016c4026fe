"""What a relaunch is asked to do, as the hub writes it to `relaunch_plan.json` in the run's state folder."""

from pathlib import Path

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.places import RunPlaces
from perftui.ipc.settings import SettingValue

AFTER = "--after"
"""Given to `perftui.trainer.tuning` where the one before it was killed: the original is started again."""
_FILE = "relaunch_plan.json"


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """How long one trial may go on."""

    steps: int = 600
    """Most steps."""
    seconds: float = 600.0
    """Most seconds after the first step."""
    wall_seconds: float | None = None
    """Most seconds from the launch on, its start and warm-up included; None: the other limits alone."""
    usual_seconds: float | None = None
    """Most seconds of steps alone (`enough.usual_seconds`): compiling, validating and saving do not count."""
    fewest_seconds: float = 5.0
    """Fewest seconds after the first step; very fast loops may take more steps than `steps` in them."""
    ample_seconds: float = 60.0
    """After so many, a standard error below the limit of a verdict is enough: another launch tells more."""
    start_seconds: float = 600.0
    """Most seconds to the first step."""
    silent_seconds: float = 300.0
    """Most seconds without a new step before the trial counts as hung."""
    fewest_steps: int = 60
    """Fewest steady steps."""


def caps_of(trial_seconds: float | None) -> Caps:
    """Return how long the trials of a run may take, where it was started with a limit of its own."""
    return Caps() if trial_seconds is None else Caps(seconds=trial_seconds)


class RelaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One change, to be measured by trials, and what to do afterwards."""

    set: dict[str, SettingValue]
    """The change: these settings over the ones in force."""
    relaunch_id: str = ""
    """Empty: one is made."""
    run_id: str | None = None
    """The run to replace, or whose command is to be measured. None: `command` says what to launch."""
    command: list[str] = []
    cwd: str = ""
    name: str = ""
    before: dict[str, SettingValue] = {}
    """Settings of A; taken from the run where there is one."""
    arguments: dict[str, ArgumentTemplate] = {}
    """How the script of `command` takes what `arg.NAME` sets."""
    trial: bool = True
    """False: switch at once, without trials."""
    go_live: bool = True
    """Start the winner for good afterwards. Where no run had to be stopped, nothing is started."""
    confirmed: bool = True
    """The user has agreed to trials of this command, by key or by `--yes`; if not, it is refused."""
    finding: str | None = None
    bound: float | None = None
    expected: float | None = None
    most_s: float | None = None
    """What the user was told that all trials take at most, in seconds; None: estimated anew."""
    most_launches: int = 4
    """4, or up to 8 on request."""
    seed: int = 0
    """Of all trials, so that their losses can be compared."""
    caps: Caps = Caps()


def plan_path(places: RunPlaces) -> Path:
    """Return where the plan of a run's relaunch lies."""
    return places.state / _FILE
