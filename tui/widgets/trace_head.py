"""The head of a profile, and the line in which a filter is typed."""

from collections.abc import Sequence

from textual import events
from textual.widgets import Input

from perftui.tui.format import clean
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import FILTER
from perftui.tui.messages import FilterClosed
from perftui.tui.renderables.lines import Line
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_headline import headline
from perftui.tui.widgets.picture import Picture

_SHARE = 3
"""The head takes one line in so many at most."""


class TraceHead(Picture):
    """Sentence, circumstances, bar and legend; as high as they are."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self._known = TraceContext()

    def show(self, context: TraceContext, width: int, screen_height: int) -> None:
        """Show a window in a screen of this size."""
        self._known = context
        lines = len(headline(context, max(1, width), textured=self.glyphs.textured))
        self.styles.height = max(1, min(lines, screen_height // _SHARE))
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw it."""
        return headline(self._known, self.size.width, textured=self.glyphs.textured)


class FilterLine(Input):
    """Filters while being typed."""

    BINDINGS = FILTER

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="words that a row must have", compact=True, id=id)
        self.cursor_blink = False
        self.display = False

    def on_paste(self, event: events.Paste) -> None:
        """Take the first line of what is pasted, as text: what is looked through has no controls either."""
        event.text = clean(next(iter(event.text.splitlines()), ""))

    def action_done(self) -> None:
        """Keep the filter."""
        self.screen.set_focus(None)  # at once: the next key is no part of the filter
        self.post_message(FilterClosed())

    def action_clear(self) -> None:
        """Filter no more."""
        self.value = ""
        self.action_done()
