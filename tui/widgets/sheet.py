"""Text in a box over the screen, as high as it needs: questions and the help are written on it."""

from collections.abc import Callable, Sequence

from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.widgets.picture import ScrolledPicture

_WIDTH = 96


class Sheet(ScrolledPicture):
    """A titled text; `text` gives its lines for a width."""

    def __init__(self, glyphs: Glyphs, title: str, text: Callable[[int], Sequence[Line]]) -> None:
        super().__init__(glyphs, id="sheet")
        self._title = title
        self._text = text

    def fit_into(self, width: int, height: int) -> None:
        """Take the size that the text needs, on a screen of this size."""
        wide = max(20, min(_WIDTH, width - 4))
        self.styles.width = wide
        self.styles.height = max(3, min(height - 1, len(self._text(wide - 4)) + 2))

    def title(self) -> Line:
        """Return the title."""
        return line(Run(self._title, "title"))

    def body(self, width: int) -> Sequence[Line]:
        """Return the text."""
        return self._text(width)
