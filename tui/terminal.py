"""Between the app and the terminal: filters on the way out, signals and hang-ups on the way in."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from perftui.ipc.errors import UsageError
from perftui.tui.glyphs import to_ascii

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class AsciiFilter(LineFilter):
    """Turns everything that leaves the app, the framework's own widgets included, into ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the same cells in ASCII."""
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


_INSTEAD = "`perftui status RUN` prints the run instead"


def require_terminal(instead: str = _INSTEAD) -> None:
    """Check that there is a terminal that can show a dashboard.

    Args:
        instead: what to do without one.

    Raises:
        UsageError: none, or one that cannot move its cursor.
    """
    streams = (sys.stdin, sys.stdout, sys.__stderr__)  # the framework paints on stderr
    if not all(stream is not None and stream.isatty() for stream in streams):
        raise UsageError(f"no terminal here to show the dashboard on; {instead}")
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        raise UsageError(f"TERM={os.environ['TERM']} cannot show the dashboard; {instead}")


def end_on_signals(end: Callable[[int], None]) -> None:
    """Call `end` with the exit code, in the running loop, on SIGTERM, SIGHUP and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, end, 128 + number)


def forget_signals() -> None:
    """Undo `end_on_signals`."""
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.remove_signal_handler(number)


def terminal_hung_up() -> bool:
    """Return True when the terminal of this process is gone."""
    poller = select.poll()
    poller.register(0, 0)  # hang-up and errors are reported unasked
    try:
        return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poller.poll(0))
    except OSError:
        return True
