"""Brings the traces that ranks of other hosts wrote to the lead, so that one analysis has all.

A rank's word that its trace is there is held back until the trace is here. The lead asks for each piece, one
at a time from each host, so that telemetry passes in between; it names window and rank, never a path, and
gives the file a name of its own making.
"""

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from perftui.ipc.host_messages import AskTrace, TracePart
from perftui.ipc.messages import FromRank, WindowReport
from perftui.trainer.hub.joined_host import JoinedHost

TRACE_MAX_BYTES = 1024**3
_WINDOW = re.compile(r"[A-Za-z0-9-]{1,40}")
_ASK_AGAIN_S = 3.0
_GIVE_UP_S = 60.0
"""Without a new piece."""
_WAITING_MAX = 4096

Deliver = Callable[[JoinedHost, FromRank, float], None]
"""Takes a report in, now that it is complete."""


@dataclass
class _Wanted:
    host: JoinedHost
    report: WindowReport
    unix: float
    began_s: float
    offset: int = 0
    asked_s: float = 0.0
    moved_s: float = 0.0
    stream: BinaryIO | None = field(default=None, repr=False)


class TraceFetching:
    """The traces on their way to this lead.

    Args:
        folder: where traces lie.
        ask: sends a question to a host.
        deliver: takes a report in whose trace is here, or will not come.
    """

    def __init__(self, folder: Path, ask: Callable[[JoinedHost, AskTrace], object], deliver: Deliver) -> None:
        self._folder = folder
        self._ask = ask
        self._deliver = deliver
        self._wanted: list[_Wanted] = []

    def holds(self, host: JoinedHost, message: FromRank, unix: float) -> bool:
        """Hold a report back whose trace is to be brought here; False: there is none to bring."""
        if not isinstance(message, WindowReport) or message.path is None:
            return False
        if not _WINDOW.fullmatch(message.window_id) or len(self._wanted) >= _WAITING_MAX:
            return False
        now = time.monotonic()
        self._wanted.append(_Wanted(host, message, unix, now, moved_s=now))
        return True

    def turn(self) -> None:
        """Ask for what is next, and give up what does not come."""
        now = time.monotonic()
        busy: set[str] = set()
        for each in list(self._wanted):
            if now - each.moved_s > _GIVE_UP_S:
                self._end(
                    each, f"its trace stayed on host {each.host.name}: nothing came for {_GIVE_UP_S:.0f} s"
                )
            elif each.host.name not in busy:
                busy.add(each.host.name)
                if now - each.asked_s > _ASK_AGAIN_S:
                    self._ask_next(each, now)

    def _ask_next(self, each: _Wanted, now: float) -> None:
        each.asked_s = now
        report = each.report
        self._ask(each.host, AskTrace(window_id=report.window_id, rank=report.rank, offset=each.offset))

    def take(self, host: JoinedHost, part: TracePart) -> None:
        """Take a piece; one that nobody asked for is left."""
        each = next((one for one in self._wanted if _is_of(part, one, host)), None)
        if each is None or part.offset != each.offset:
            return
        if part.missing is not None:
            self._end(each, f"its trace stayed on host {host.name}: {part.missing[:200]}")
        elif part.total > TRACE_MAX_BYTES or each.offset + len(part.data) > part.total or not part.data:
            self._end(each, f"its trace stayed on host {host.name}: {part.total} bytes, or not as announced")
        else:
            self._write(each, part)

    def _write(self, each: _Wanted, part: TracePart) -> None:
        try:
            if each.stream is None:
                each.stream = self._unfinished(each).open("wb")
            each.stream.write(part.data)
            each.offset += len(part.data)
            each.moved_s = time.monotonic()
            if each.offset < part.total:
                self._ask_next(each, each.moved_s)
                return
            each.stream.close()
            self._unfinished(each).replace(self._folder / _name(each.report))
        except OSError as error:
            self._end(each, f"its trace could not be kept here: {error.strerror}")
            return
        self._end(each, None)

    def _end(self, each: _Wanted, why: str | None) -> None:
        """Deliver the report: with its trace, or with the reason why there is none."""
        self._wanted.remove(each)
        if each.stream is not None:
            with contextlib.suppress(OSError):
                each.stream.close()
        if why is not None:
            with contextlib.suppress(OSError):
                self._unfinished(each).unlink(missing_ok=True)
        name = None if why is not None else _name(each.report)
        reason = "; ".join(word for word in (each.report.reason, why) if word) or None
        report = msgspec.structs.replace(each.report, path=name, snapshot=None, reason=reason)
        self._deliver(each.host, report, each.unix)

    def _unfinished(self, each: _Wanted) -> Path:
        return self._folder / f"{_name(each.report)}.tmp"

    def close(self) -> None:
        """Leave what is on its way."""
        for each in self._wanted:
            if each.stream is not None:
                with contextlib.suppress(OSError):
                    each.stream.close()
                    self._unfinished(each).unlink(missing_ok=True)


def _is_of(part: TracePart, each: _Wanted, host: JoinedHost) -> bool:
    report = each.report
    return (part.window_id, part.rank, host.name) == (report.window_id, report.rank, each.host.name)


def _name(report: WindowReport) -> str:
    step, count = max(0, report.start_step), max(0, report.steps)
    return f"rank{report.rank}_step{step}_n{count}_{report.window_id}.pt.trace.json.gz"
