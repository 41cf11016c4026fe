"""One rank as a card that can be chosen with the keyboard or the mouse."""

from collections.abc import Sequence

from textual import events

from perftui.tui.glyphs import Glyphs
from perftui.tui.messages import RankChosen, RankOpened
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.rank_card import RankPicture, rank_card
from perftui.tui.widgets.picture import Picture

_TWICE = 2


class RankPanel(Picture, can_focus=True):
    """A card; to have the focus is to be chosen."""

    def __init__(self, glyphs: Glyphs, picture: RankPicture) -> None:
        super().__init__(glyphs, id=f"rank-{picture.view.rank}")
        self.picture = picture
        self.selected = False

    def show(self, picture: RankPicture, *, selected: bool) -> None:
        """Show a rank."""
        if (picture, selected) != (self.picture, self.selected):
            self.picture, self.selected = picture, selected
            self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the card."""
        width, height = self.size
        return rank_card(self.picture, width, height, selected=self.selected, textured=self.glyphs.textured)

    def on_focus(self) -> None:
        """Become the chosen one."""
        self.post_message(RankChosen(self.picture.view.rank))

    def on_click(self, event: events.Click) -> None:
        """Become the chosen one; twice: show all about it."""
        self.focus()
        if event.chain == _TWICE:
            self.post_message(RankOpened(self.picture.view.rank))
