"""Which characters this terminal can show, decided once at the start.

The pictures are drawn with block, box and braille characters. Where the locale is not UTF-8, or a person asks
for it, the app's last filter turns each of them into one ASCII character of the same width, so no picture
needs to know. Only what has no such twin (braille, bars told apart by colour) is drawn differently.
"""

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.cells import cell_len

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


def choose_glyphs(environ: Mapping[str, str], encoding: str) -> Glyphs:
    """Decide from the environment and the locale's encoding; no terminal is asked."""
    wanted = environ.get("PERFTUI_ASCII", "")
    unicode_locale = encoding.lower().replace("-", "").replace("_", "") == "utf8"
    ascii_only = wanted not in ("", "0") or (wanted == "" and not unicode_locale)
    textured = ascii_only or bool(environ.get("NO_COLOR"))
    blocks = environ.get("PERFTUI_GRAPH") == "block" or environ.get("TERM") in ("linux", "vt220")
    return Glyphs(
        ascii=ascii_only,
        chart="block" if textured or blocks else "braille",
        textured=textured,
    )


def glyphs_of_this_terminal(*, ascii_only: bool = False) -> Glyphs:
    """Decide for this process; `ascii_only`: a person asks for it, whatever the environment says."""
    environ = {**os.environ, "PERFTUI_ASCII": "1"} if ascii_only else os.environ
    return choose_glyphs(environ, locale.getpreferredencoding(do_setlocale=False))
