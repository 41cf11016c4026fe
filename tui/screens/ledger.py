"""Every experiment made so far: what was changed, how it was measured, and what came of it."""

import time
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Done, LedgerQuery
from perftui.ipc.ledger_records import Comparison
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import LEDGER
from perftui.tui.messages import QuestionAsked, TextCopied
from perftui.tui.renderables.ledger_blocks import changed_command, ledger_blocks
from perftui.tui.renderables.ledger_columns import LedgerOrder, columns_of
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, line, wrap
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.relaunch_headline import relaunch_headline
from perftui.tui.screens.page_screen import PageScreen
from perftui.tui.state import DashboardState, going_on

_News: TypeAlias = tuple[str, str, str]
"""Run, relaunch and how far that is: while it is the same the ledger has nothing new."""
_ASK_AGAIN_S = 10.0
"""A question that was declined, or that a hub took with it, is asked again."""


class _Asked(NamedTuple):
    command_id: str
    news: _News
    at_s: float


class LedgerScreen(PageScreen):
    """Asks the hub on coming up, and whenever a relaunch has come further."""

    BINDINGS = LEDGER

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._comparisons: Sequence[Comparison] | None = None
        self._why = ""
        self._order = LedgerOrder()
        self._opened: frozenset[str] = frozenset()
        self._all = False
        self._known: _News | None = None
        """What the newest answer is about: nothing newer is known of."""
        self._asked: _Asked | None = None

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state, and ask again when there may be something new."""
        super().show(state, live, note)
        relaunch = live.relaunch
        news = (live.run_id, relaunch.relaunch_id if relaunch else "", relaunch.state if relaunch else "")
        if not live.connected:
            self._asked = None  # a hub that has gone does not answer any more
        elif news != self._known and not self._waits_for(news):
            self._asked = _Asked(new_command_id(), news, time.monotonic())
            self.post_message(QuestionAsked(LedgerQuery(command_id=self._asked.command_id), self))

    def _waits_for(self, news: _News) -> bool:
        asked = self._asked
        return asked is not None and asked.news == news and time.monotonic() - asked.at_s < _ASK_AGAIN_S

    def told(self, done: Done | None, why: str) -> None:
        """Show what the ledger has."""
        self._why = why
        if done is not None and done.comparisons is not None:
            self._comparisons = done.comparisons
            if self._asked is not None and done.command_id == self._asked.command_id:
                self._known, self._asked = self._asked.news, None
        self.draw_page()

    def _shown(self) -> list[Comparison]:
        header, known = self.state.header, self._comparisons or ()
        if self._all or header is None:
            return list(known)
        return [each for each in known if each.command == header.command or each.name == header.name]

    def heading(self) -> Line:
        """Return how many there are."""
        shown, known = len(self._shown()), len(self._comparisons or ())
        whose = "of this host" if self._all else f"of this run's command, {known} on this host"
        return line(Run("ledger", "title"), Run(f" {shown} {whose}", "dim"))

    def blocks(self, width: int) -> Sequence[Block]:
        """Return what is measured now, then one block an experiment."""
        now = self._now(width)
        if self._comparisons is None:
            return [*now, _said(self._why or "asking the hub …", width)]
        shown = self._shown()
        if not shown:
            relaunch, every = self.state.keys["relaunch"], self.state.keys["ledger-all"]
            words = (
                f"nothing was measured so far; {relaunch} on the overview proposes a change and measures it"
            )
            other = (
                f"; {every} shows all experiments of this host" if self._comparisons and not self._all else ""
            )
            return [*now, _said(f"{words}{other}", width)]
        return [*now, *ledger_blocks(shown, self._order, self._opened, width)]

    def _now(self, width: int) -> list[Block]:
        relaunch = self.state.relaunch
        if relaunch is None or not going_on(relaunch):
            return []
        first, _ = relaunch_headline(relaunch, self.state, width)
        return [Block("", (clip(first, width), BLANK))]

    def action_open(self) -> None:
        """Show all about the chosen one, or fold it up."""
        self._opened ^= {self.page.key}
        self.draw_page()

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        headings = [column.heading for column in columns_of(self.page.room)]
        here = headings.index(self._order.column) if self._order.column in headings else 0
        self._order = LedgerOrder(headings[(here + by) % len(headings)])
        self.draw_page()

    def action_invert(self) -> None:
        """Turn the order round."""
        self._order = LedgerOrder(self._order.column, not self._order.upward)
        self.draw_page()

    def action_all(self) -> None:
        """Show all of this host, or only those of this run's command."""
        self._all = not self._all
        self.draw_page()

    def action_copy(self) -> None:
        """Copy the command that starts the training with the change."""
        chosen = next((each for each in self._shown() if each.comparison_id == self.page.key), None)
        self.post_message(TextCopied(changed_command(chosen) if chosen else None, "command"))


def _said(words: str, width: int) -> Block:
    return Block("", tuple(wrap(f"○ {fmt.clean(words)}", width, "note")))
