"""What a terminal can show, as far as its variables, its description and its line say.

The dashboard draws by it and `perftui doctor` tells it: both ask here, so that they say the same.
"""

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias

from perftui.ipc.start_environment import speaks_utf8

ColourDepth: TypeAlias = Literal["none", "16", "256", "16 million"]

_ASCII_TERMS = ("linux", "vt100", "vt102")
"""The font of Linux's own console lacks most of what is drawn; the others came before all of it."""
_FEW_COLOURS = 8
_256_COLOURS = ("256color", "kitty")
"""What the names of such terminals end with."""


def takes_ascii_only(environ: Mapping[str, str]) -> bool:
    """Return whether all is to be drawn with ASCII.

    A locale of which nothing is said is taken for UTF-8, as most containers and their terminals are; but tmux
    and screen then show something else in place of each character that is not ASCII.
    """
    wanted = environ.get("PERFTUI_ASCII", "")
    if wanted:
        return wanted != "0"
    unicode_locale = speaks_utf8(environ)
    if unicode_locale is None:
        unicode_locale = not (environ.get("TMUX") or environ.get("STY"))
    return not unicode_locale or environ.get("TERM") in _ASCII_TERMS


def without_colour(environ: Mapping[str, str], colours: int | None) -> bool:
    """Return whether no colour is wanted, or there is none.

    Args:
        environ: of this process.
        colours: that the terminal has by its description; None where that is not known.
    """
    return bool(environ.get("NO_COLOR")) or (colours is not None and colours < _FEW_COLOURS)


def colour_depth(environ: Mapping[str, str], colours: int | None) -> ColourDepth:
    """Return how many colours are painted with, as the framework counts them.

    Args:
        environ: of this process.
        colours: that the terminal has by its description; None where that is not known.
    """
    if without_colour(environ, colours):
        return "none"
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "16 million"
    ending = environ.get("TERM", "").strip().lower().rpartition("-")[2]
    return "256" if ending in _256_COLOURS else "16"


def described_colours(term: str) -> int | None:
    """Return how many colours a terminal has by its description in terminfo; None where that is not known."""
    try:
        import curses
    except ImportError:  # a Python without it
        return None
    try:
        curses.setupterm(term, 2)
    except curses.error:
        return None
    return max(0, curses.tigetnum("colors"))


def own_size(fileno: int) -> tuple[int, int] | None:
    """Return a terminal's own columns and lines; None where it does not say.

    COLUMNS and LINES, which most programs believe first, are those of the moment in which somebody exported
    them (`docker exec -e COLUMNS=…`): they stay when the window changes.
    """
    try:
        columns, lines = os.get_terminal_size(fileno)
    except OSError:
        return None
    return (columns, lines) if columns > 0 and lines > 0 else None
