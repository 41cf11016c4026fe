"""The small JSON files in a run's folder, and their atomic reading and writing."""

import os
import tempfile
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.ledger_records import Outcome
from perftui.ipc.owned_files import regular_file
from perftui.ipc.profile_schedule import ProfileSchedule
from perftui.ipc.settings import SettingValue
from perftui.ipc.told_text import encoded
from perftui.ipc.units import MIB

_Record = TypeVar("_Record", bound=msgspec.Struct)
_MOST_BYTES = 256 * MIB
"""A longer file is none of ours: the report of a large window has some 10 MB."""


class HostsPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One host's place in a run over several."""

    role: Literal["lead", "member"]
    host: str
    """The lead's address: numeric for the lead itself, which listens there and nowhere else."""
    port: int
    key: str
    """Path of the key file; keys themselves stand nowhere else."""


class RunDescription(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: what was launched and how."""

    run_id: str
    name: str
    command: list[str]
    """As it was typed, but for a mark where it is no UTF-8: `keeper.json` has the very words."""
    cwd: str
    host: str
    started_unix: float
    settings: dict[str, SettingValue] = {}
    owned: bool = True
    trial: bool = False
    parent: str | None = None
    steps_limit: int | None = None
    seconds_limit: float | None = None
    keeper_pid: int | None = None
    keeper_start_ticks: int | None = None
    interpreter: str | None = None
    note: str | None = None
    """The one-line environment check."""
    trial_seconds: float | None = None
    """Most seconds that one trial of this command may measure; None: as the procedure needs."""
    training_pid: int | None = None
    """The command's own process, started by the keeper."""
    training_start_ticks: int | None = None
    gpu_readings: bool = True
    """False: the GPU libraries are left alone."""
    gpu_interval_s: float | None = None
    """Between two fast readings of the GPUs; None: the default."""
    profile_schedule: ProfileSchedule | None = None
    """Profiling windows that open by themselves; None: none do."""
    arguments: dict[str, ArgumentTemplate] = {}
    """How the script takes what `arg.NAME` sets."""
    hosts: HostsPlan | None = None
    """How this host's hub stands to those of the run's other hosts; None: the run has one host."""
    started_monotonic_s: float | None = None
    """`started_unix` by the monotonic clock of the host, which nobody sets."""
    pid_space: str | None = None
    """Where the pids of this record mean processes (`ipc.pid_space`)."""


class ExitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`exit.json`: how the training ended."""

    exit_code: int
    """As subprocess gives it: -9 for a process killed by SIGKILL."""
    ended_unix: float
    stopped_by: str | None = None
    outcome: Outcome = "finished"
    last_lines: list[str] = []
    survivors: list[int] = []
    """Pids of ours that could not be ended."""
    hub_restarts: int = 0


class StopRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`stop.json`: asks the keeper to stop the training by the ladder."""

    stopped_by: str
    """`steps`, `seconds`, `user`, `relaunch`."""
    trainers: list[tuple[int, int]] = []
    """(pid, start ticks) of the ranks, so that their pids are signalled and not their groups."""
    grace_s: float = 30.0


class AppliedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`settings.json`: what the probe is to do in each training process of the run."""

    settings: dict[str, SettingValue] = {}
    trial: bool = False
    scratch: str | None = None
    """Where a trial's files go."""
    seed: int | None = None
    """Seeds random, numpy and torch before the script, so that losses can be compared."""
    words: dict[str, list[str]] = {}
    """Of each `arg.NAME` that is set: the words that the script must find among its arguments."""


def write_record(path: Path, record: msgspec.Struct) -> None:
    """Write a record as JSON, whole or not at all; what is no UTF-8 in its texts gets a mark."""
    write_bytes(path, msgspec.json.format(encoded(msgspec.json.encode, record), indent=1) + b"\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, readable by its owner only."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_record(path: Path, kind: type[_Record]) -> _Record | None:
    """Read a record; None when there is none, or it is not (yet) one."""
    try:
        with regular_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > _MOST_BYTES:
                return None
            # a bare bound would take that much address space, of which there may be little
            text = stream.read(size)
        return msgspec.json.decode(text, type=kind)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
