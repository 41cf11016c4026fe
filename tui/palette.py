"""Themes: which colours the roles of pictures have, and which theme a terminal starts with.

Pictures speak in roles (`wait`, `critical`, `dim`), never in colours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from perftui.tui import colours

_PREFIX = "perftui-"

_BOLD = {"title", "value", "critical", "warning", "fine", "key", "heading", "heat1"}
_DIM_WITHOUT_COLOUR = {"dim", "frame", "track"}
_REVERSED = {"cursor"}


@dataclass(frozen=True)
class Palette:
    """Turns roles into styles."""

    colours: Mapping[str, str]
    monochrome: bool = False
    _styles: dict[tuple[str, str], Style] = field(default_factory=dict, compare=False, repr=False)

    def style(self, role: str, back: str = "") -> Style:
        """Return the style of a role, on the colour of the role `back` where one is given."""
        known = self._styles.get((role, back))
        if known is None:
            known = self._styles[role, back] = self._made(role, back)
        return known

    def _made(self, role: str, back: str) -> Style:
        bold, reverse = role in _BOLD, role in _REVERSED
        if self.monochrome:
            return Style(bold=bold, dim=role in _DIM_WITHOUT_COLOUR, reverse=reverse or back != "")
        if back and self.colours[back] == "default":  # the terminal's own foreground, whichever that is
            return Style(bold=bold, reverse=True)
        return Style(
            color=self.colours[role],
            bgcolor=self.colours[back] if back else None,
            bold=bold,
            reverse=reverse,
        )


def palette_of(theme: Theme, *, monochrome: bool = False) -> Palette:
    """Return the palette for one of our themes, or the nearest for any other."""
    nearest = colours.ANSI if theme.ansi else colours.DARK if theme.dark else colours.LIGHT
    return Palette(_COLOURS.get(theme.name.removeprefix(_PREFIX), nearest), monochrome)


def _theme(word: str, background: str, panel: str, *, dark: bool) -> Theme:
    roles = _COLOURS[word]
    return Theme(
        name=f"{_PREFIX}{word}",
        primary=roles["accent"],
        secondary=roles["note"],
        warning=roles["warning"],
        error=roles["critical"],
        success=roles["fine"],
        accent=roles["key"],
        foreground=roles["text"],
        background=background,
        surface=background,
        panel=panel,
        dark=dark,
        variables={
            "scrollbar": roles["frame"],
            "scrollbar-background": background,
            "scrollbar-corner-color": background,
        },
    )


def _of_terminal(word: str, base: str) -> Theme:
    """Return a theme in the terminal's own 16 colours."""
    return replace(BUILTIN_THEMES[base], name=f"{_PREFIX}{word}")


_COLOURS: Mapping[str, Mapping[str, str]] = {
    "dark": colours.DARK,
    "light": colours.LIGHT,
    "contrast": colours.CONTRAST,
    "contrast-light": colours.CONTRAST_LIGHT,
    "ansi": colours.ANSI,
    "ansi-light": colours.ANSI_LIGHT,
    "ansi-contrast": colours.ANSI_CONTRAST,
}
THEMES = (
    _theme("dark", "#121212", "#1c1c1c", dark=True),
    _theme("light", "#ffffff", "#eeeeee", dark=False),
    _theme("contrast", "#000000", "#1c1c1c", dark=True),
    _theme("contrast-light", "#ffffff", "#eeeeee", dark=False),
    _of_terminal("ansi", "ansi-dark"),
    _of_terminal("ansi-light", "ansi-light"),
    _of_terminal("ansi-contrast", "ansi-dark"),
)
_FEW_COLOURS = {
    "dark": "ansi",
    "light": "ansi-light",
    "contrast": "ansi-contrast",
    "contrast-light": "ansi-contrast",
}
"""What stands for a theme in a terminal that cannot show its colours."""
_LIGHT_GROUNDS = ("7", "15")


def choose_theme(environ: Mapping[str, str], color_system: str | None, wanted: str = "auto") -> str:
    """Return the name of the theme to start with.

    `PERFTUI_THEME` decides, else what is wanted; of its own accord it is dark, or light where the terminal
    announces a light background in `COLORFGBG`. Terminals of 16 colours or none keep their own colours.
    """
    named = environ.get("PERFTUI_THEME", "")
    word = named if named in _COLOURS else wanted
    if word == "auto":
        light = environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_GROUNDS
        word = "light" if light else "dark"
    if color_system not in ("truecolor", "256"):
        word = _FEW_COLOURS.get(word, word)
    return f"{_PREFIX}{word}"
