"""The pages of the dashboard. A new one is a file in `screens` and a line here.

From this line come its key (on the overview and on every page), its place in the footer, in the help and in
the palette, and the way there. Screens are imported when they are first opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perftui.tui.glyphs import Glyphs
    from perftui.tui.screens.run_screen import RunScreen


class PageEntry(NamedTuple):
    """A page; `screen` is its module in `screens` and its class."""

    name: str
    key: str
    about: str
    screen: str

    @property
    def kind(self) -> "type[RunScreen]":
        """The class of its screen."""
        module, _, name = self.screen.partition(":")
        kind: type[RunScreen] = getattr(import_module(f"perftui.tui.screens.{module}"), name)
        return kind

    def made(self, glyphs: "Glyphs") -> "RunScreen":
        """Return a new screen of it."""
        return self.kind(glyphs)  # type: ignore[call-arg] # every page takes its glyphs


PAGES = (
    PageEntry("findings", "f", "All findings with their evidence, and what could not be judged", "findings:FindingsScreen"),
    PageEntry("output", "o", "The training's output, to be searched", "output:OutputScreen"),
    PageEntry("ledger", "e", "Experiments: what was changed so far, measured how, and what came of it", "ledger:LedgerScreen"),
    PageEntry("settings", "i", "Settings in force on each rank, as read back from it", "settings:SettingsScreen"),
    PageEntry("ranks", "m", "Ranks over time: who holds the others up, and since when", "ranks:RanksScreen"),
)  # fmt: skip
