"""The files through which a keeper is told what to do and tells what came of it.

Standard library only: the keeper must not depend on anything that can fail. The same files are typed for
everyone else in `perftui.ipc.run_files`; a test holds both together.
"""

import json
import math
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from perftui.trainer.launch.stop_ladder import StopOrder

_RESERVE = "exit.reserve"
_RESERVE_BYTES = 64 * 1024


@dataclass(frozen=True)
class KeeperOrder:
    """`keeper.json`: what to start, and how."""

    run_id: str
    command: list[str]
    cwd: str
    additions: dict[str, str]
    """Environment variables on top of the keeper's own, which are the user's."""
    stdio: str
    hub: list[str]
    """Command that starts the hub; empty: none."""
    die_with: tuple[int, int] | None = None
    """(pid, start ticks) of the process with which the training is to end."""
    console_bytes: int = 64 * 1024 * 1024
    temporary: str | None = None
    """A trial's TMPDIR, removed when the trial has ended."""


@dataclass
class Ended:
    """`exit.json`, an `ExitRecord`."""

    exit_code: int
    ended_unix: float
    outcome: str
    stopped_by: str | None = None
    last_lines: list[str] = field(default_factory=list[str])
    survivors: list[int] = field(default_factory=list[int])
    hub_restarts: int = 0


def read_order(state: Path) -> KeeperOrder:
    """Read `keeper.json`, written by the launcher of the same version."""
    fields: dict[str, Any] = json.loads((state / "keeper.json").read_bytes())
    died_with = fields.pop("die_with")
    return KeeperOrder(**fields, die_with=None if died_with is None else (died_with[0], died_with[1]))


def read_stop(state: Path) -> StopOrder | None:
    """Read `stop.json`; None when nobody asked. One that cannot be read still means stop."""
    try:
        text = (state / "stop.json").read_bytes()
    except OSError:
        return None
    try:
        fields: dict[str, Any] = json.loads(text)
        trainers = tuple((int(pid), int(ticks)) for pid, ticks in fields.get("trainers", ()))
        grace_s = float(fields.get("grace_s", 30.0))
        return StopOrder(str(fields["stopped_by"]), trainers, grace_s if math.isfinite(grace_s) else 30.0)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return StopOrder("user")


def note_in_description(state: Path, additions: dict[str, int]) -> None:
    """Add process ids to `run.json`."""
    path = state / "run.json"
    fields: dict[str, Any] = json.loads(path.read_bytes())
    write_surely(path, {**fields, **additions})


def record_exit(state: Path, ended: Ended) -> None:
    """Write `exit.json`; on a disk that takes no more, without the last lines rather than not at all.

    Where somebody has removed the folder it is made again: whoever waits for the exit code gets it.
    """
    fields = asdict(ended)
    with suppress(OSError):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        write_surely(state / "exit.json", fields)
    except OSError:
        write_json(state / "exit.json", {**fields, "last_lines": []})
    (state / _RESERVE).unlink(missing_ok=True)


def take_reserve(state: Path) -> None:
    """Take room on the disk now, so that the exit code can be recorded when the disk is full.

    Raises:
        OSError: the disk is full already.
    """
    # random, for file systems that store nothing for zeros
    handle = os.open(state / _RESERVE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(os.urandom(_RESERVE_BYTES))


def write_surely(path: Path, fields: dict[str, Any]) -> None:
    """Write a file of a run's folder, at the cost of the reserve where the disk is full."""
    try:
        write_json(path, fields)
    except OSError:
        (path.parent / _RESERVE).unlink(missing_ok=True)
        write_json(path, fields)
        with suppress(OSError):
            take_reserve(path.parent)


def write_json(path: Path, fields: dict[str, Any]) -> None:
    """Write a file whole or not at all, readable by its owner only."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(fields, stream, indent=1)
            stream.write("\n")
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
