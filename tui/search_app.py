"""A search for faster settings on a screen of its own: no run, no hub; it is read where it is written."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen

from perftui.ipc.errors import PerftuiError
from perftui.ipc.search_view import SearchView
from perftui.tui import format as fmt
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.glyphs import Glyphs, glyphs_of_this_terminal
from perftui.tui.keys import ALONE, TUNE_ALONE
from perftui.tui.renderables.lines import Line, Run, line, spread
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.search_blocks import search_blocks, search_command, search_heading
from perftui.tui.screens.help import HelpScreen
from perftui.tui.terminal import require_terminal
from perftui.tui.terminal_app import TerminalApp
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.page import Page
from perftui.tui.widgets.run_header import HeaderLine

Read: TypeAlias = Callable[[], SearchView | None]
"""Returns the search as it stands; called in a thread."""
_PERIOD_S = 1.0


class SearchRead(Message):
    """The search was read, or why it could not be."""

    def __init__(self, view: SearchView | None, why: str) -> None:
        super().__init__()
        self.view, self.why = view, why


class _Title(HeaderLine):
    """Which search this is."""

    search_id = ""

    def show(self, search_id: str) -> None:
        """Show its id."""
        self.search_id = search_id
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw it."""
        right = line(Run(f"{fmt.visible(self.search_id)} ", "dim"))
        return [spread(line(Run(" perftui tune", "title")), right, self.size.width)]


class SearchScreen(Screen[None]):
    """One search."""

    BINDINGS = TUNE_ALONE
    AUTO_FOCUS = "#page"

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._title, self._page = _Title(glyphs, id="header"), Page(glyphs)
        self._view: SearchView | None = None
        self._why = "reading the ledger …"
        self._opened: frozenset[str] = frozenset()

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._title
        yield self._page
        yield KeyLine(self._glyphs)

    def show(self, view: SearchView | None, why: str) -> None:
        """Show it; the last known stays where it cannot be read."""
        self._view, self._why = view or (self._view if why else None), why
        self._draw()

    def _draw(self) -> None:
        if self._page.size.width:
            self._title.show(self._view.search_id if self._view else "")
            blocks: Sequence[Block] = search_blocks(self._view, self._opened, self._page.room, why=self._why)
            self._page.show(search_heading(self._view), blocks)

    def on_resize(self, _event: events.Resize) -> None:
        """Make the page for another width, once it has it."""
        self.call_after_refresh(self._draw)

    def action_move(self, by: int) -> None:
        """Choose the next block, or the one before."""
        self._page.move(by)

    def action_turn(self, pages: int) -> None:
        """Scroll by pages."""
        self._page.turn(pages)

    def action_end(self, way: int) -> None:
        """Choose the first block or the last."""
        self._page.end(way)

    def action_open(self) -> None:
        """Show all about the chosen trial, or fold it up."""
        self._opened ^= {self._page.key}
        self._draw()

    def action_copy(self) -> None:
        """Copy the command that runs the best configuration so far."""
        command = search_command(self._view)
        if command is None:
            self.notify("there is no command here to copy", markup=False)
        else:
            self.app.copy_to_clipboard(command)
            self.notify("command copied, if this terminal lets programs copy", markup=False)


class SearchApp(TerminalApp[None]):
    """Shows a search until the person leaves; the search goes on."""

    BINDINGS = ALONE

    def __init__(self, read: Read, glyphs: Glyphs | None = None, config: Config = DEFAULT) -> None:
        super().__init__(glyphs, config)
        self._read = read
        self._screen_of_search = SearchScreen(self.glyphs)

    def on_mount(self) -> None:
        """Show it, and read it once a second."""
        self.push_screen(self._screen_of_search)
        self.watch_terminal()
        self._read_again()
        self.set_interval(_PERIOD_S, self._read_again)

    def _read_again(self) -> None:
        self.run_worker(self._reading, thread=True, exclusive=True, group="search")

    def _reading(self) -> None:
        try:
            read = SearchRead(self._read(), "")
        except PerftuiError as error:
            read = SearchRead(None, str(error))
        self.post_message(read)

    def on_search_read(self, message: SearchRead) -> None:
        """Show what was read."""
        self._screen_of_search.show(message.view, message.why)

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen(self.glyphs, of="search", keys=self.config.keys))

    def action_leave(self) -> None:
        """Leave."""
        self.exit(return_code=0)


def run_search_app(read: Read, *, config: Config = DEFAULT, ascii_only: bool = False) -> int:
    """Show a search until the person leaves; return 0, or 128 plus the signal that ended it.

    Args:
        read: returns the search as it stands.
        config: the person's own.
        ascii_only: draw with ASCII, whatever the environment says.

    Raises:
        UsageError: there is no terminal, or one that cannot show it.
    """
    require_terminal("`perftui tune --watch` prints it where there is none")
    return SearchApp(read, glyphs_of_this_terminal(ascii_only=ascii_only), config).run_here()
