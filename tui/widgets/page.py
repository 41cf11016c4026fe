"""A page that is scrolled, with a block that is chosen by the keyboard or the mouse."""

from collections.abc import Sequence

from textual import events

from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.lines import BLANK, Line
from perftui.tui.renderables.page import (
    MARGIN,
    Block,
    chosen,
    page_body,
    position,
    rule,
    scrolled_to,
    stepped,
    turned,
)
from perftui.tui.widgets.picture import WheeledPicture

_FAR = 1_000_000


class Page(WheeledPicture, can_focus=True):
    """Shows blocks; the screen that owns it says which."""

    wheel_lines = 1

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs, id="page")
        self._title: Line = BLANK
        self._blocks: Sequence[Block] = ()
        self._key = ""
        self._top = 0
        self._keys_for = ""

    @property
    def key(self) -> str:
        """Key of the chosen block; "" when there is none."""
        at = chosen(self._blocks, self._key)
        return "" if at is None else self._blocks[at].key

    @property
    def room(self) -> int:
        """Cells for a line of a block."""
        return max(1, self.size.width - MARGIN - 1)

    def show(self, title: Line, blocks: Sequence[Block]) -> None:
        """Show these blocks; the chosen one stays, and in view if it was, as long as it is there."""
        height = self.size.height - 1
        seen = self._top == scrolled_to(self._blocks, chosen(self._blocks, self._key), self._top, height)
        self._title, self._blocks = title, blocks
        if seen:
            self._top = scrolled_to(blocks, chosen(blocks, self._key), self._top, height)
        self.redraw()

    def redraw(self) -> None:
        """Draw, and have the keys looked at again where another block is chosen."""
        super().redraw()
        if self.key != self._keys_for:
            self._keys_for = self.key
            self.screen.refresh_bindings()

    def draw(self) -> Sequence[Line]:
        """Draw the rule and what is in view."""
        width, height = self.size
        at = chosen(self._blocks, self._key)
        self._top = scrolled_to(self._blocks, None, self._top, height - 1)
        remark = position(self._blocks, self._top, height - 1)
        return [rule(self._title, remark, width), *page_body(self._blocks, at, self._top, height - 1)]

    def move(self, by: int) -> None:
        """Choose the next block (1) or the one before (-1)."""
        self._go(*stepped(self._blocks, self._key, self._top, self.size.height - 1, by))

    def turn(self, pages: int) -> None:
        """Scroll by pages."""
        self._go(*turned(self._blocks, self._key, self._top, self.size.height - 1, pages))

    def end(self, way: int) -> None:
        """Choose the last block (1), or the first (-1)."""
        keys = [block.key for block in self._blocks if block.key]
        self._go(keys[-1 if way > 0 else 0] if keys else "", _FAR if way > 0 else 0)

    def _go(self, key: str, top: int) -> None:
        self._key, self._top = key, top
        self.redraw()

    def scroll_by(self, lines: int) -> None:
        """Choose the next block, or the one before."""
        self.move(lines)

    def on_click(self, event: events.Click) -> None:
        """Choose the block under the mouse."""
        line_at, begin = self._top + event.y - 1, 0
        for block in self._blocks:
            begin += len(block.lines)
            if event.y > 0 and line_at < begin:
                self._key = block.key or self._key
                self.redraw()
                return
