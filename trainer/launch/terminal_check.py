"""What the terminal at hand can do, judged from the environment and the descriptors; draws nothing."""

import os
import shutil
import sys
from collections.abc import Iterator

from perftui.ipc.start_environment import speaks_utf8
from perftui.trainer.launch.versions import Finding

SMALLEST = (40, 12)
"""Columns and rows under which a dashboard is not opened."""
_PLAIN = frozenset({"", "dumb", "unknown"})


def terminal_checks(environment: dict[str, str]) -> Iterator[Finding]:
    """Judge the terminal for a dashboard."""
    refusal = no_dashboard_because(environment)
    if refusal is not None:
        yield "warn", "terminal", f"no dashboard here: {refusal}", None
    else:
        size = shutil.get_terminal_size()
        yield "ok", "terminal", f"{environment['TERM']}, {size.columns} x {size.lines}", None
    yield _colours(environment)
    utf8 = speaks_utf8(environment)
    advice = None if utf8 else "set LANG to a UTF-8 locale, such as C.UTF-8"
    said = {True: "UTF-8", False: "not UTF-8: the dashboard is drawn with ASCII", None: "no locale is set"}
    yield "ok" if utf8 else "warn", "encoding", said[utf8], advice


def no_dashboard_because(environment: dict[str, str]) -> str | None:
    """Return why no dashboard can be opened here; None when one can."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "stdin and stdout are not both a terminal"
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        return "stderr, on which it is drawn, is not a terminal"
    term = environment.get("TERM", "")
    if term in _PLAIN:
        return f"TERM is {term or 'not set'}: this terminal cannot be drawn on"
    return None


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
    if "NO_COLOR" in environment:
        return "ok", "colours", "off (NO_COLOR)", None
    if environment.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "ok", "colours", "16 million", None
    return "ok", "colours", "256" if "256" in environment.get("TERM", "") else "16", None
