"""The base of screens that are one page: the run's header, the page, the keys."""

from abc import abstractmethod
from collections.abc import Sequence

from textual.app import ComposeResult

from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.page import Block
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.page import Page
from perftui.tui.widgets.run_header import RunHeader


class PageScreen(RunScreen):
    """Shows blocks made from the run's state. Tables of keys for it hold `PAGE`."""

    AUTO_FOCUS = "#page"

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self.glyphs = glyphs
        self.state = DashboardState(run_id="")
        self.page = Page(glyphs)
        self._header = RunHeader(glyphs, id="header")

    @abstractmethod
    def heading(self) -> Line:
        """Return the page's title."""

    @abstractmethod
    def blocks(self, width: int) -> Sequence[Block]:
        """Return what stands on the page, in lines of at most `width` cells."""

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._header
        yield self.page
        yield KeyLine(self.glyphs)

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state."""
        self._header.show(state, note)
        self.state = state
        self.set_class(live.header is not None and not live.connected and not live.ended, "-lost")
        self.draw_page()

    def draw_page(self) -> None:
        """Make the page anew."""
        if self.page.size.width:
            self.page.show(self.heading(), self.blocks(self.page.room))

    def on_resize(self) -> None:
        """Make the page for another width, once it has it."""
        self.call_after_refresh(self.draw_page)

    def action_move(self, by: int) -> None:
        """Choose the next block, or the one before."""
        self.page.move(by)

    def action_turn(self, pages: int) -> None:
        """Scroll by pages."""
        self.page.turn(pages)

    def action_end(self, way: int) -> None:
        """Choose the first block or the last."""
        self.page.end(way)
