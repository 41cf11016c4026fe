"""The base of all apps: a person's configuration, themes, glyphs, and a good end in every terminal."""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from textual.app import SystemCommand
from textual.binding import Binding
from textual.filter import LineFilter, Monochrome, NoColor
from textual.notifications import Notify
from textual.screen import Screen

from perftui.ipc.errors import Refused
from perftui.ipc.places import current_folder
from perftui.ipc.terminal_kinds import described_colours, without_colour
from perftui.tui import format as fmt
from perftui.tui.clipboard import clipboard_sequences, hand_to_tmux
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.glyphs import Glyphs, glyphs_of_this_terminal
from perftui.tui.key_map import display, key_names
from perftui.tui.paced_app import PacedApp
from perftui.tui.palette import THEMES, choose_theme
from perftui.tui.screenshot import save_screenshot, screenshot_stem
from perftui.tui.terminal import AsciiFilter, end_on_signals, forget_signals, terminal_hung_up
from perftui.tui.terminal_guard import guarded_terminal

_Result = TypeVar("_Result")
_MISTAKES_S = 20.0
"""How long mistakes in the configuration stay on the screen."""
_MISTAKES_SHOWN = 3


class TerminalApp(PacedApp[_Result]):
    """An app that suits its terminal and its person, and leaves the terminal as it was."""

    TITLE = "perftui"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    when_killed = "perftui was killed. Back to it: the same command again"
    """What is left on the terminal then."""

    def __init__(self, glyphs: Glyphs | None = None, config: Config = DEFAULT) -> None:
        super().__init__()
        self.glyphs = glyphs or glyphs_of_this_terminal()
        self.config = config
        self.key_names = key_names(config.keys)
        self.set_keymap({name: ",".join(keys) for name, keys in config.keys.items()})
        self.no_color = without_colour(os.environ, described_colours(os.environ.get("TERM", "")))
        for theme in THEMES:
            self.register_theme(theme)
        colours = None if self.no_color else self.console.color_system
        self.theme = choose_theme(os.environ, colours, config.theme)

    def get_key_display(self, binding: Binding) -> str:
        """Return a key as all screens show it."""
        return display(binding)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Leave out all colour where none is wanted, and all but ASCII where nothing else can be shown."""
        filters = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        if self.no_color:
            filters.append(NoColor())
        return [*filters, AsciiFilter()] if self.glyphs.ascii else filters

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action in force in the command palette, each once, with its key."""
        told: set[tuple[str | None, str]] = set()
        for active in screen.active_bindings.values():
            binding = active.binding
            if active.enabled and binding.id and binding.tooltip and binding.id != "palette":
                if (binding.id, binding.action) in told:
                    continue
                told.add((binding.id, binding.action))
                run = partial(self.run_action, binding.action, active.node)
                key = self.key_names.get(binding.id, display(binding))
                yield SystemCommand(f"{binding.description}  {key}", binding.tooltip, run)
        yield SystemCommand("theme", "Choose another set of colours", self.action_change_theme)

    def watch_terminal(self) -> None:
        """End on signals, and when the terminal is gone; tell what is wrong with the configuration."""
        end_on_signals(self.end)
        if not self.is_headless:
            self.set_interval(1.0, self._end_without_terminal)
            self.repaint_on_return()
        self._tell_mistakes()

    def _tell_mistakes(self) -> None:
        mistakes = self.config.mistakes
        if mistakes:
            more = len(mistakes) - _MISTAKES_SHOWN
            rest = [f"and {more} more: `perftui config` tells all"] if more > 0 else []
            words = "\n".join(fmt.clean(each) for each in (*mistakes[:_MISTAKES_SHOWN], *rest))
            title = "not in force, of the configuration"
            self.notify(words, title=title, severity="warning", timeout=_MISTAKES_S, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Say once what a key that is held says thirty times a second, and again when that is to go."""
        new = event.notification
        for standing in list(self._notifications):
            if (standing.message, standing.title) == (new.message, new.title):
                if standing.time_left > new.timeout / 2:
                    event.prevent_default()
                else:
                    self._unnotify(standing, refresh=False)

    def on_unmount(self) -> None:
        """Let go of the signals."""
        forget_signals()

    def end(self, code: int) -> None:
        """End with an exit code."""
        self.exit(return_code=code)

    def _end_without_terminal(self) -> None:
        if terminal_hung_up():
            self.end(129)

    def copy_to_clipboard(self, text: str) -> None:
        """Hand a text to the terminal, through tmux and screen where they lie between."""
        self._clipboard = text
        if self._driver is not None:
            for sequence in clipboard_sequences(text, os.environ):
                self._driver.write(sequence)
        if os.environ.get("TMUX"):
            self.run_worker(partial(hand_to_tmux, text), thread=True, group="clipboard")

    def leaving_words(self) -> str:
        """Say how one leaves."""
        return f"{self.key_names['leave']} leaves"

    def action_help_quit(self) -> None:
        """Say it to who presses ctrl+c, which is a key like any here."""
        self.notify(self.leaving_words(), markup=False)

    def action_repaint(self) -> None:
        """Paint everything anew."""
        self.refresh(layout=True)
        self.screen.refresh(layout=True)

    def action_save_screen(self) -> None:
        """Write the screen to a new file, and tell which."""
        try:
            path = save_screenshot(self.export_screenshot(), current_folder(), screenshot_stem())
        except Refused as error:
            self.notify(fmt.clean(str(error)), severity="warning", markup=False)
        else:
            self.notify(f"this screen is in {fmt.clean(str(path))}", timeout=10, markup=False)

    def run_here(self) -> int:
        """Run in this terminal, and return the exit code."""
        with guarded_terminal(self.left_clean, self.when_killed):
            self.run(mouse=os.environ.get("PERFTUI_MOUSE") != "0")
        return self.return_code or 0
