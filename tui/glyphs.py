"""Which characters this terminal can show, decided once at the start.

The pictures are drawn with block, box and braille characters. Where the locale is not UTF-8, or a person asks
for it, the app's last filter turns each of them into one ASCII character of the same width, so no picture
needs to know. Only what has no such twin (braille, bars told apart by colour) is drawn differently.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.cells import cell_len

from perftui.ipc.start_environment import start_environment
from perftui.ipc.terminal_kinds import described_colours, takes_ascii_only, without_colour

ChartStyle: TypeAlias = Literal["braille", "block"]

_TWINS = {
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+"),
    **dict.fromkeys("─━╌┄▔", "-"),
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
    "🔎": "> ",
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


def choose_glyphs(environ: Mapping[str, str], colours: int | None = None) -> Glyphs:
    """Decide from the environment; no terminal is asked.

    Args:
        environ: as this process was started with.
        colours: that the terminal has by its description; None where that is not known.
    """
    ascii_only = takes_ascii_only(environ)
    textured = ascii_only or without_colour(environ, colours)
    term = environ.get("TERM")
    blocks = environ.get("PERFTUI_GRAPH") == "block" or term in ("linux", "vt220")
    return Glyphs(
        ascii=ascii_only,
        chart="block" if textured or blocks else "braille",
        textured=textured,
    )


def glyphs_of_this_terminal(*, ascii_only: bool = False) -> Glyphs:
    """Decide for this process; `ascii_only`: a person asks for it, whatever the environment says."""
    environ = start_environment()
    wanted = {**environ, "PERFTUI_ASCII": "1"} if ascii_only else environ
    return choose_glyphs(wanted, described_colours(environ.get("TERM", "")))
