"""Which characters this terminal can show, decided once at the start.

The pictures are drawn with block, box and braille characters. Where the locale is not UTF-8, or a person asks
for it, the app's last filter turns each of them into one ASCII character of the same width, so no picture
needs to know. Only what has no such twin (braille, bars told apart by colour) is drawn differently.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.cells import cell_len

from perftui.ipc.start_environment import speaks_utf8, start_environment

ChartStyle: TypeAlias = Literal["braille", "block"]

_TWINS = {
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+"),
    **dict.fromkeys("─━╌┄", "-"),
    **dict.fromkeys("│┃╎┆▏▕", "|"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True)),
    **dict.fromkeys("▉▊▋▌", "#"),
    **dict.fromkeys("▍▎", "|"),
    "▓": "%",
    "▒": ":",
    "░": ".",
    "■": "#",
    "□": "o",
    "●": "*",
    "○": "o",
    "◌": "?",
    "▲": "!",
    "▶": ">",
    "▷": ">",
    "◆": "+",
    "✔": "v",
    "✖": "x",
    "⏸": "=",
    "—": "-",
    "–": "-",
    "−": "-",
    "·": ".",
    "…": "~",
    "×": "x",
    "µ": "u",
    "°": " ",
    "±": "~",
    "▼": "v",
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "≤": "<",
    "≥": ">",
    "≈": "~",
    "≠": "#",
    "└": "+",
    "┃": "|",
    "’": "'",
    "“": '"',
    "”": '"',
}


def to_ascii(text: str) -> str:
    """Return `text` with every character replaced by ASCII of the same width in cells."""
    if text.isascii():
        return text
    return "".join(
        character if character.isascii() else _TWINS.get(character, "?" * cell_len(character))
        for character in text
    )


@dataclass(frozen=True)
class Glyphs:
    """What pictures may use."""

    ascii: bool = False
    """Everything goes through `to_ascii` on its way out."""
    chart: ChartStyle = "braille"
    textured: bool = False
    """Parts are told apart by letters and patterns, because colours cannot."""


_ASCII_TERMS = ("linux", "vt100", "vt102")
"""The font of Linux's own console lacks most of what is drawn; the others came before all of it."""
_FEW_COLOURS = 8


def choose_glyphs(environ: Mapping[str, str], colours: int | None = None) -> Glyphs:
    """Decide from the environment; no terminal is asked.

    A locale of which nothing is said is taken for UTF-8, as most containers and their terminals are; but tmux
    and screen then show something else in place of each character that is not ASCII.

    Args:
        environ: as this process was started with.
        colours: that the terminal has by its description; None where that is not known.
    """
    wanted = environ.get("PERFTUI_ASCII", "")
    unicode_locale = speaks_utf8(environ)
    if unicode_locale is None:
        unicode_locale = not (environ.get("TMUX") or environ.get("STY"))
    term = environ.get("TERM")
    ascii_only = wanted not in ("", "0") or (wanted == "" and (not unicode_locale or term in _ASCII_TERMS))
    textured = ascii_only or without_colour(environ, colours)
    blocks = environ.get("PERFTUI_GRAPH") == "block" or term in ("linux", "vt220")
    return Glyphs(
        ascii=ascii_only,
        chart="block" if textured or blocks else "braille",
        textured=textured,
    )


def without_colour(environ: Mapping[str, str], colours: int | None) -> bool:
    """Return whether no colour is wanted, or there is none."""
    return bool(environ.get("NO_COLOR")) or (colours is not None and colours < _FEW_COLOURS)


def glyphs_of_this_terminal(*, ascii_only: bool = False) -> Glyphs:
    """Decide for this process; `ascii_only`: a person asks for it, whatever the environment says."""
    environ = start_environment()
    wanted = {**environ, "PERFTUI_ASCII": "1"} if ascii_only else environ
    return choose_glyphs(wanted, described_colours(environ.get("TERM", "")))


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
