"""Ranks beyond what fits as cards: a line each, drawn only when in view, whatever their number."""

from collections.abc import Sequence

from textual import events

from perftui.tui.glyphs import Glyphs
from perftui.tui.messages import RankChosen, RankOpened
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_columns import Medians, absent_columns, column_at
from perftui.tui.renderables.rank_order import RankOrder
from perftui.tui.renderables.rank_rows import rank_heading, rank_row, scroll_bar
from perftui.tui.widgets.picture import WheeledPicture

_TWICE = 2


class RankTable(WheeledPicture, can_focus=True):
    """A heading that stays, and one line a rank below it, in the order that was asked for."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self.order = RankOrder()
        self._pictures: Sequence[RankPicture] = ()
        self._medians: Medians = {}
        self._absent: frozenset[str] = frozenset()
        self._selected = 0
        self._top = 0

    def show(self, pictures: Sequence[RankPicture], selected: int, medians: Medians) -> None:
        """Show the ranks, and keep the chosen one in view when it changes."""
        moved = selected != self._selected or len(pictures) != len(self._pictures)
        self._pictures, self._medians, self._selected = self.order.sorted(pictures), medians, selected
        self._absent = absent_columns(pictures)
        if moved:
            self._keep_in_view()
        self.redraw()

    def sort_beside(self, way: int) -> None:
        """Sort by the next column in view, or by the one before."""
        self.sort(self.order.beside(self._room, way, self._absent))

    def sort(self, order: RankOrder) -> None:
        """Show the ranks in another order, from its first on."""
        self.order = order
        self._pictures = order.sorted(sorted(self._pictures, key=lambda picture: picture.view.rank))
        self._top = 0
        self.redraw()

    def beside(self, rank: int, step: int) -> int:
        """Return the rank so many lines below another, as far as there are any."""
        ranks = [picture.view.rank for picture in self._pictures]
        if not ranks:
            return rank
        here = ranks.index(rank) if rank in ranks else 0
        return ranks[max(0, min(len(ranks) - 1, here + step))]

    @property
    def rows(self) -> int:
        """How many ranks are in view."""
        return max(1, self.size.height - 1)

    def _keep_in_view(self) -> None:
        if self.size.height == 0:
            return
        row = next((i for i, p in enumerate(self._pictures) if p.view.rank == self._selected), 0)
        self._top = min(row, max(self._top, row - self.rows + 1))

    def scroll_by(self, lines: int) -> None:
        """Look at other rows; the chosen rank stays the chosen one."""
        self._top += lines
        self.redraw()

    @property
    def _room(self) -> int:
        """Width of a line; the last cell is the scroll bar's where there is one."""
        return self.size.width - (len(self._pictures) > self.rows)

    def draw(self) -> Sequence[Line]:
        """Draw the heading and the ranks in view."""
        self._top = max(0, min(self._top, len(self._pictures) - self.rows))
        shown = self._pictures[self._top : self._top + self.rows]
        room = self._room
        lines = [
            rank_row(
                picture,
                room,
                selected=picture.view.rank == self._selected,
                medians=self._medians,
                absent=self._absent,
            )
            for picture in shown
        ]
        bar = scroll_bar(self._top, self.rows, len(self._pictures))
        drawn = [(*row, mark) for row, mark in zip(lines, bar, strict=True)] if bar else lines
        return [rank_heading(room, self.order, absent=self._absent), *drawn]

    def on_click(self, event: events.Click) -> None:
        """Sort by the column under the mouse; or choose the rank, and with two clicks show all about it."""
        if event.y == 0:
            column = column_at(self._room, event.x, self._absent)
            if column is not None:
                self.sort(self.order.by(column.heading))
            return
        row = self._top + event.y - 1
        if row < len(self._pictures):
            rank = self._pictures[row].view.rank
            self.post_message(RankChosen(rank))
            if event.chain == _TWICE:
                self.post_message(RankOpened(rank))
