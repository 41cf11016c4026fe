"""A search for faster settings as it runs or ended: asked of the hub, which reads it from the ledger."""

import time
from collections.abc import Sequence

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Done, SearchQuery
from perftui.ipc.search_view import SearchView
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import TUNE
from perftui.tui.messages import QuestionAsked, TextCopied
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.search_blocks import search_blocks, search_command, search_heading
from perftui.tui.screens.page_screen import PageScreen
from perftui.tui.state import DashboardState

_ASK_AGAIN_S = 1.0


class TuneScreen(PageScreen):
    """The newest search of the hub's host."""

    BINDINGS = TUNE

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._view: SearchView | None = None
        self._why = "asking the hub …"
        self._opened: frozenset[str] = frozenset()
        self._asked_s = 0.0

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state, and ask once a second how the search stands."""
        super().show(state, live, note)
        now = time.monotonic()
        if live.connected and now - self._asked_s >= _ASK_AGAIN_S:
            self._asked_s = now
            self.post_message(QuestionAsked(SearchQuery(command_id=new_command_id()), self))

    def told(self, done: Done | None, why: str) -> None:
        """Show what the ledger has; the last known stays where there is no answer."""
        self._why = why
        if done is not None:
            self._view = done.search
        self.draw_page()

    def heading(self) -> Line:
        """Return which search it is."""
        return search_heading(self._view)

    def blocks(self, width: int) -> Sequence[Block]:
        """Return all about it."""
        return search_blocks(self._view, self._opened, width, why=self._why)

    def action_open(self) -> None:
        """Show all about the chosen trial, or fold it up."""
        self._opened ^= {self.page.key}
        self.draw_page()

    def action_copy(self) -> None:
        """Copy the command that runs the best configuration so far."""
        self.post_message(TextCopied(search_command(self._view), "command"))
