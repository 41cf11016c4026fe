"""What the terminal at hand can do, judged from the environment and the descriptors; draws nothing."""

import os
import sys
from collections.abc import Iterator
from typing import IO

from perftui.ipc.start_environment import speaks_utf8
from perftui.ipc.terminal_kinds import colour_depth, described_colours, own_size, takes_ascii_only
from perftui.trainer.launch.versions import Finding

SMALLEST = (40, 12)
"""Columns and rows under which a dashboard is not opened."""
_PAINTED_ON = 2
_PLAIN = frozenset({"", "dumb", "unknown"})


def terminal_checks(environment: dict[str, str]) -> Iterator[Finding]:
    """Judge the terminal for a dashboard."""
    refusal = no_dashboard_because(environment)
    if refusal is not None:
        yield "warn", "terminal", f"no dashboard here: {refusal}", None
    else:
        size = own_size(_PAINTED_ON)
        told = f"{size[0]} x {size[1]}" if size else "its size is not known"
        yield "ok", "terminal", f"{environment['TERM']}, {told}", None
    yield _colours(environment)
    yield _encoding(environment)


def no_dashboard_because(environment: dict[str, str]) -> str | None:
    """Return why no dashboard can be opened here; None when one can."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return "stdin and stdout are not both a terminal"
    if not is_terminal(sys.__stderr__):
        return "stderr, on which it is drawn, is not a terminal"
    term = environment.get("TERM", "")
    if term in _PLAIN:
        return f"TERM is {term or 'not set'}: this terminal cannot be drawn on"
    return None


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a standard stream is a terminal; one that was closed before the start is None."""
    return stream is not None and stream.isatty()


def too_small() -> str | None:
    """Return one line when the terminal is smaller than a dashboard needs."""
    size = os.get_terminal_size(sys.stdout.fileno())
    # 0 x 0 is said by terminals that do not know their size; the screen asks them again
    if 0 < size.columns < SMALLEST[0] or 0 < size.lines < SMALLEST[1]:
        return (
            f"this terminal has {size.columns} x {size.lines} characters; a dashboard needs "
            f"{SMALLEST[0]} x {SMALLEST[1]}: enlarge it, or use --no-tui"
        )
    return None


def _colours(environment: dict[str, str]) -> Finding:
    depth = colour_depth(environment, described_colours(environment.get("TERM", "")))
    off = "off (NO_COLOR)" if environment.get("NO_COLOR") else "none, by this terminal's description"
    return "ok", "colours", off if depth == "none" else depth, None


def _encoding(environment: dict[str, str]) -> Finding:
    """Judge the locale, and say where ASCII is drawn, which need not be the locale's doing."""
    utf8 = speaks_utf8(environment)
    said = {True: "UTF-8", False: "not UTF-8", None: "no locale is set"}[utf8]
    if takes_ascii_only(environment):
        asked = bool(environment.get("PERFTUI_ASCII"))
        why = "PERFTUI_ASCII" if asked else f"TERM={environment.get('TERM', '')}" if utf8 else ""
        said += f": the dashboard is drawn with ASCII{f' ({why})' if why else ''}"
    advice = None if utf8 else "set LANG to a UTF-8 locale, such as C.UTF-8"
    return "ok" if utf8 else "warn", "encoding", said, advice
