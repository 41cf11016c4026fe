"""What a configuration comes to once it was read and checked."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from perftui.tui.key_map import NO_CHANGE, Keys

ThemeWord: TypeAlias = Literal["auto", "dark", "light", "contrast", "contrast-light", "ansi", "ansi-light"]
PanelWord: TypeAlias = Literal["ranks", "steps", "findings", "output", "host"]
THEME_WORDS: tuple[ThemeWord, ...] = (
    "auto",
    "dark",
    "light",
    "contrast",
    "contrast-light",
    "ansi",
    "ansi-light",
)
PANEL_WORDS: tuple[PanelWord, ...] = ("ranks", "steps", "findings", "output", "host")
UPDATES_PER_S = 4.0
SLOWEST_PER_S, FASTEST_PER_S = 0.1, 10.0


@dataclass(frozen=True)
class Config:
    """Everything that a person may say, with what holds where nothing is said."""

    theme: ThemeWord = "auto"
    updates_per_s: float | None = None
    """How often the screen is painted anew at most; None: as often as suits the number of ranks."""
    panels: tuple[PanelWord, ...] = PANEL_WORDS
    """What the overview shows below its two lines of verdict."""
    keys: Keys = field(default_factory=lambda: NO_CHANGE)
    mistakes: tuple[str, ...] = ()
    """What was wrong and is not in force, one line each, to be told."""


DEFAULT = Config()
