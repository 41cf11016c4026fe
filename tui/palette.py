"""Colours: what each role of a picture looks like in each theme, and the themes themselves.

Pictures speak in roles (`wait`, `critical`, `dim`), never in colours. The 24-bit colours are members of the
256-colour cube, so a session that SSH has cut down to 256 colours shows the very same ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

DARK_NAME, LIGHT_NAME, ANSI_NAME = "perftui-dark", "perftui-light", "perftui-ansi"

_BOLD = {"title", "value", "critical", "warning", "fine", "key", "heading", "heat1"}
_DIM_WITHOUT_COLOUR = {"dim", "frame", "track"}
_REVERSED = {"cursor"}

_DARK = {
    "text": "#d0d0d0",
    "dim": "#8a8a8a",
    "value": "#eeeeee",
    "title": "#eeeeee",
    "heading": "#afd7ff",
    "frame": "#4e4e4e",
    "frame-selected": "#5fafff",
    "track": "#3a3a3a",
    "key": "#ffd787",
    "critical": "#ff5f5f",
    "warning": "#ffd75f",
    "fine": "#87d787",
    "note": "#87afd7",
    "accent": "#5fafff",
    "loader_wait": "#ff875f",
    "h2d": "#d7afff",
    "forward": "#5fafff",
    "backward": "#5f87d7",
    "optimizer": "#5fd7af",
    "comm_exposed": "#d787af",
    "other": "#767676",
    "gemm": "#5fafff",
    "conv": "#5f87d7",
    "attention": "#87d7ff",
    "norm": "#5fd7af",
    "elementwise": "#87af87",
    "reduce": "#afaf5f",
    "triton": "#ffd75f",
    "operator": "#8787af",
    "call": "#d7af87",
    "sync": "#ff5f5f",
    "launch": "#d7af5f",
    "dependency": "#87afd7",
    "heat1": "#ffd75f",
    "heat2": "#ffaf5f",
    "heat3": "#ff5f5f",
    "on-bar": "#121212",
    "cursor": "#eeeeee",
}
_LIGHT = {
    "text": "#303030",
    "dim": "#6c6c6c",
    "value": "#121212",
    "title": "#121212",
    "heading": "#005f87",
    "frame": "#bcbcbc",
    "frame-selected": "#005fd7",
    "track": "#dadada",
    "key": "#875f00",
    "critical": "#d70000",
    "warning": "#af5f00",
    "fine": "#008700",
    "note": "#005faf",
    "accent": "#005fd7",
    "loader_wait": "#d75f00",
    "h2d": "#875fd7",
    "forward": "#0087d7",
    "backward": "#005faf",
    "optimizer": "#00875f",
    "comm_exposed": "#af005f",
    "other": "#8a8a8a",
    "gemm": "#0087d7",
    "conv": "#005faf",
    "attention": "#0087af",
    "norm": "#00875f",
    "elementwise": "#5f875f",
    "reduce": "#87875f",
    "triton": "#af8700",
    "operator": "#5f5f87",
    "call": "#875f00",
    "sync": "#d70000",
    "launch": "#875f00",
    "dependency": "#005f87",
    "heat1": "#af5f00",
    "heat2": "#d75f00",
    "heat3": "#d70000",
    "on-bar": "#ffffff",
    "cursor": "#121212",
}
_ANSI = {
    "text": "default",
    "dim": "bright_black",
    "value": "default",
    "title": "default",
    "heading": "cyan",
    "frame": "bright_black",
    "frame-selected": "bright_blue",
    "track": "bright_black",
    "key": "yellow",
    "critical": "bright_red",
    "warning": "yellow",
    "fine": "green",
    "note": "blue",
    "accent": "bright_blue",
    "loader_wait": "red",
    "h2d": "magenta",
    "forward": "bright_blue",
    "backward": "blue",
    "optimizer": "green",
    "comm_exposed": "bright_magenta",
    "other": "bright_black",
    "gemm": "bright_blue",
    "conv": "blue",
    "attention": "bright_cyan",
    "norm": "green",
    "elementwise": "bright_green",
    "reduce": "cyan",
    "triton": "bright_yellow",
    "operator": "cyan",
    "call": "yellow",
    "sync": "bright_red",
    "launch": "yellow",
    "dependency": "bright_blue",
    "heat1": "yellow",
    "heat2": "yellow",
    "heat3": "bright_red",
    "on-bar": "black",
    "cursor": "default",
}


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
        return Style(
            color=self.colours[role],
            bgcolor=self.colours[back] if back else None,
            bold=bold,
            reverse=reverse,
        )


def palette_of(theme: Theme, *, monochrome: bool = False) -> Palette:
    """Return the palette for one of our themes, or the nearest for any other."""
    if theme.ansi:
        return Palette(_ANSI, monochrome)
    return Palette(_DARK if theme.dark else _LIGHT, monochrome)


def _theme(name: str, colours: Mapping[str, str], background: str, panel: str, *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=colours["accent"],
        secondary=colours["note"],
        warning=colours["warning"],
        error=colours["critical"],
        success=colours["fine"],
        accent=colours["key"],
        foreground=colours["text"],
        background=background,
        surface=background,
        panel=panel,
        dark=dark,
        variables={
            "footer-background": panel,
            "footer-item-background": panel,
            "footer-key-background": panel,
            "footer-description-background": panel,
            "footer-key-foreground": colours["key"],
            "footer-description-foreground": colours["dim"],
            "scrollbar": colours["frame"],
            "scrollbar-background": background,
            "scrollbar-corner-color": background,
        },
    )


DARK = _theme(DARK_NAME, _DARK, "#121212", "#1c1c1c", dark=True)
LIGHT = _theme(LIGHT_NAME, _LIGHT, "#ffffff", "#eeeeee", dark=False)
_FRAMEWORK_ANSI = BUILTIN_THEMES["ansi-dark"]
ANSI = replace(
    _FRAMEWORK_ANSI,
    name=ANSI_NAME,
    variables={**_FRAMEWORK_ANSI.variables, "footer-key-foreground": "ansi_yellow"},
)
THEMES = (DARK, LIGHT, ANSI)


def choose_theme(environ: Mapping[str, str], color_system: str | None) -> str:
    """Return the name of the theme to start with.

    `PERFTUI_THEME` (dark, light, ansi) decides; else terminals of 16 colours or none keep their own colours,
    and a light background is believed where the terminal announces it in `COLORFGBG`.
    """
    wanted = environ.get("PERFTUI_THEME", "")
    if f"perftui-{wanted}" in (DARK_NAME, LIGHT_NAME, ANSI_NAME):
        return f"perftui-{wanted}"
    if color_system not in ("truecolor", "256"):
        return ANSI_NAME
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT_NAME if background in ("7", "15") else DARK_NAME
