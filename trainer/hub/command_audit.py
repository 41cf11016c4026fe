"""Leaves a line in the run's `audit.jsonl` for each command that changes anything: asked, answered, ended."""

from pathlib import Path

import msgspec

from perftui.ipc.audit import Actor, note
from perftui.ipc.dashboard_messages import (
    Answer,
    Command,
    Done,
    Question,
    SeekCommand,
    SummaryQuery,
)
from perftui.trainer.hub.served import Reply

_OPEN_KEPT = 256
_CHANGE_NOTHING = SummaryQuery | SeekCommand | Question


class CommandAudit:
    """Follows the commands of one run from the question to the end.

    Args:
        path: of the audit file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[tuple[bytes, str], tuple[Actor, str, dict[str, object]]] = {}

    def asked(self, command: Command | Question, peer: bytes, actor: Actor) -> None:
        """Note who asked; nothing is written before the answer."""
        if isinstance(command, _CHANGE_NOTHING):
            return
        given: dict[str, object] = msgspec.to_builtins(command)
        kind, ident = str(given.pop("kind")), str(given.pop("command_id"))
        self._open[peer, ident] = (actor, kind, {name: v for name, v in given.items() if v is not None})
        if len(self._open) > _OPEN_KEPT:
            del self._open[next(iter(self._open))]

    def replied(self, reply: Reply) -> None:
        """Write the line for an answer or an end."""
        message = reply.message
        if not isinstance(message, Answer | Done):
            return
        found = self._open.get((reply.peer, message.command_id))
        if found is None:
            return
        actor, kind, given = found
        if isinstance(message, Answer):
            result, told = "accepted" if message.accepted else "refused", message.reason or ""
        else:
            result, told = "done" if message.ok else "failed", message.result
        if result != "accepted":
            del self._open[reply.peer, message.command_id]
        note(self._path, actor, kind, result, command_id=message.command_id, given=given, told=told)
