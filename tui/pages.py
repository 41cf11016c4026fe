"""The pages of the dashboard. A new one is a file in `screens` and a line here.

From this line come its key (on the overview and on every page), its place in the footer, in the help and in
the palette, and the way there. Screens are imported when they are first opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from perftui.tui.glyphs import Glyphs
    from perftui.tui.screens.run_screen import RunScreen


class PageEntry(NamedTuple):
    """A page; `name` is also its module in `screens`."""

    key: str
    name: str
    screen: str
    """The name of the class."""
    about: str

    @property
    def kind(self) -> "type[RunScreen]":
        """The class of its screen."""
        kind: type[RunScreen] = getattr(import_module(f"perftui.tui.screens.{self.name}"), self.screen)
        return kind

    def made(self, glyphs: "Glyphs") -> "RunScreen":
        """Return a new screen of it."""
        return cast("Callable[[Glyphs], RunScreen]", self.kind)(glyphs)


PAGES = (
    PageEntry("f", "findings", "FindingsScreen", "All findings with their evidence, and what is not judged"),
    PageEntry("o", "output", "OutputScreen", "The training's output, to be searched"),
    PageEntry("e", "ledger", "LedgerScreen", "Experiments: what was changed, measured how, what came of it"),
    PageEntry("i", "settings", "SettingsScreen", "Settings in force on each rank, as read back from it"),
    PageEntry("t", "tune", "TuneScreen", "The newest search for faster settings: its trials, and its result"),
    PageEntry("m", "ranks", "RanksScreen", "Ranks over time: who holds the others up, and since when"),
)
