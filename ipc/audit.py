"""`audit.jsonl` of a run: who asked for what that changes anything, when, and what came of it.

One JSON object a line, appended in one write, so that several processes may write and a killed one tears
nothing. Bounded: when it is full, the older half stands beside it as `audit.jsonl.1`.
"""

import contextlib
import os
import pwd
import time
from pathlib import Path

import msgspec

from perftui.ipc.owned_files import opener
from perftui.ipc.told_text import encoded
from perftui.ipc.units import MIB

_HALF_BYTES = MIB
_TEXT_MAX = 500


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who asked."""

    by: str
    """`command`: over the hub's socket or by a command line; `hub`: the hub itself, at a limit."""
    uid: int | None = None
    """As the kernel tells of the peer; None where it does not."""
    pid: int | None = None
    user: str | None = None


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    unix: float
    what: str
    """The command's kind: stop, profile, relaunch, …"""
    result: str
    """accepted, refused, done or failed."""
    actor: Actor
    command_id: str | None = None
    """The same for a command and for its end."""
    given: dict[str, object] = {}
    """What the command named: settings, steps, ranks."""
    told: str = ""
    """Why it was refused, or what came of it."""


def this_process() -> Actor:
    """Return the process that runs this as an actor."""
    return actor_of(os.getuid(), os.getpid())


def actor_of(uid: int | None, pid: int | None) -> Actor:
    """Return whoever commands over a socket or by a command line."""
    user = None
    if uid is not None:
        with contextlib.suppress(KeyError):
            user = pwd.getpwuid(uid).pw_name
    return Actor(by="command", uid=uid, pid=pid, user=user)


def note(
    path: Path,
    actor: Actor,
    what: str,
    result: str,
    *,
    command_id: str | None = None,
    given: dict[str, object] | None = None,
    told: str = "",
) -> None:
    """Append a line; a disk that takes no more costs the line, never the command."""
    line = AuditLine(
        unix=time.time(),
        what=what,
        result=result,
        actor=actor,
        command_id=command_id,
        given=given or {},
        told=told[:_TEXT_MAX],
    )
    data = encoded(msgspec.json.encode, line) + b"\n"
    with contextlib.suppress(OSError):
        handle = opener(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            if os.fstat(handle).st_size > _HALF_BYTES:
                path.replace(path.with_name(f"{path.name}.1"))
            os.write(handle, data)
        finally:
            os.close(handle)


def read_audit(path: Path) -> list[AuditLine]:
    """Return the lines that can be read, oldest first."""
    lines: list[AuditLine] = []
    for each in (path.with_name(f"{path.name}.1"), path):
        with contextlib.suppress(OSError):
            for text in each.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):
                    lines.append(msgspec.json.decode(text, type=AuditLine))
    return lines
