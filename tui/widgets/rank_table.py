"""Ranks beyond what fits as cards: a line each, drawn only when in view, whatever their number."""

from collections.abc import Sequence

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from perftui.tui.messages import RankChosen, RankOpened
from perftui.tui.renderables.lines import Run, line, spread
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_rows import rank_heading, rank_row
from perftui.tui.widgets.picture import coloured, palette_for

_TWICE = 2


class RankTable(ScrollView, can_focus=True):
    """A heading that stays, and one line a rank below it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pictures: Sequence[RankPicture] = ()
        self._selected = 0

    def show(self, pictures: Sequence[RankPicture], selected: int) -> None:
        """Show the ranks, and keep the chosen one in view when it changes."""
        moved = selected != self._selected or len(pictures) != len(self._pictures)
        before, self._pictures, self._selected = self._pictures, pictures, selected
        if moved:
            self.virtual_size = Size(self.size.width, len(pictures) + 1)
            self._keep_in_view()
            self.refresh()
            return
        top = self.scroll_offset.y
        for y in range(1, self.size.height):
            index = top + y - 1
            if index < len(pictures) and pictures[index] != before[index]:
                self.refresh(Region(0, y, self.size.width, 1))

    def _keep_in_view(self) -> None:
        row = next((i for i, p in enumerate(self._pictures) if p.view.rank == self._selected), 0)
        room = max(1, self.size.height - 1)
        top = self.scroll_offset.y
        if not top <= row < top + room:
            self.scroll_to(y=max(0, row - room // 2), animate=False)

    def render_line(self, y: int) -> Strip:
        """Draw the heading or one rank."""
        width = self.size.width
        room = width - len(self._range())
        palette = palette_for(self)
        if y == 0:
            return coloured(spread(rank_heading(room), line(Run(self._range(), "dim")), width), palette)
        index = self.scroll_offset.y + y - 1
        if index >= len(self._pictures):
            return Strip.blank(width)
        picture = self._pictures[index]
        selected = picture.view.rank == self._selected
        return coloured(rank_row(picture, room, selected=selected), palette)

    def _range(self) -> str:
        """Say which ranks are in view, when not all are."""
        total, room = len(self._pictures), self.size.height - 1
        first = self.scroll_offset.y + 1
        return "" if total <= room else f" {first} to {min(total, first + room - 1)} of {total} "

    def on_click(self, event: events.Click) -> None:
        """Choose the rank under the mouse; twice: show all about it."""
        index = self.scroll_offset.y + event.y - 1
        if event.y > 0 and index < len(self._pictures):
            rank = self._pictures[index].view.rank
            self.post_message(RankChosen(rank))
            if event.chain == _TWICE:
                self.post_message(RankOpened(rank))
