"""The base of both apps (dashboard and picker): themes, glyphs, and a good end in every terminal."""

import os
from collections.abc import Sequence
from typing import TypeVar

from textual.filter import LineFilter, Monochrome, NoColor

from perftui.tui.glyphs import Glyphs, described_colours, glyphs_of_this_terminal, without_colour
from perftui.tui.paced_app import PacedApp
from perftui.tui.palette import ANSI_NAME, THEMES, choose_theme
from perftui.tui.terminal import AsciiFilter, end_on_signals, forget_signals, terminal_hung_up
from perftui.tui.terminal_guard import guarded_terminal

_Result = TypeVar("_Result")


class TerminalApp(PacedApp[_Result]):
    """An app that suits its terminal, and leaves it as it was."""

    TITLE = "perftui"
    CSS_PATH = "app.tcss"

    def __init__(self, glyphs: Glyphs | None = None) -> None:
        super().__init__()
        self.glyphs = glyphs or glyphs_of_this_terminal()
        self.no_color = without_colour(os.environ, described_colours(os.environ.get("TERM", "")))
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = ANSI_NAME if self.no_color else choose_theme(os.environ, self.console.color_system)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Leave out all colour where none is wanted, and all but ASCII where nothing else can be shown."""
        filters = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        if self.no_color:
            filters.append(NoColor())
        return [*filters, AsciiFilter()] if self.glyphs.ascii else filters

    def watch_terminal(self) -> None:
        """End on signals, and when the terminal is gone."""
        end_on_signals(self.end)
        if not self.is_headless:
            self.set_interval(1.0, self._end_without_terminal)
            self.repaint_on_return()

    def on_unmount(self) -> None:
        """Let go of the signals."""
        forget_signals()

    def end(self, code: int) -> None:
        """End with an exit code."""
        self.exit(return_code=code)

    def _end_without_terminal(self) -> None:
        if terminal_hung_up():
            self.end(129)

    def run_here(self) -> int:
        """Run in this terminal, and return the exit code."""
        with guarded_terminal(self.left_clean):
            self.run(mouse=os.environ.get("PERFTUI_MOUSE") != "0")
        return self.return_code or 0
