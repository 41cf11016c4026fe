"""The training's own output, as text and never as markup; it follows the newest line until moved."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import BLANK, Line, Run, clip, line
from perftui.tui.widgets.picture import ScrolledPicture, key_names_for


class OutputTail(ScrolledPicture):
    """The last lines."""

    output: Sequence[str] = ()
    partial = ""
    whole = False
    """Of the whole run: a recording does not say when a line was printed."""
    follows = True

    def show(self, output: Sequence[str], partial: str, *, whole: bool = False) -> None:
        """Show the output, with the unfinished line below the finished ones; `whole`: of no one time."""
        if output is not self.output or partial != self.partial or whole != self.whole:
            self.output, self.partial, self.whole = output, partial, whole
            self.redraw()

    def title(self) -> Line:
        """Return the title."""
        of = Run(" of the whole run" if self.whole else "", "dim")
        held = "" if self.follows else f" held; {key_names_for(self)['follow']} follows again"
        return line(Run("output", "title"), of, Run(held, "key"))

    def body(self, width: int) -> Sequence[Line]:
        """Return all lines; the longest are cut, not wrapped."""
        texts = self._texts()
        if not texts:
            return [line(Run("nothing printed so far", "dim"))]
        if self.follows:
            self.offset_lines = len(texts)
        return [clip(line(text), width) for text in texts]

    def _texts(self) -> Sequence[str]:
        return (*self.output, self.partial) if self.partial else self.output

    def out_of_view(self, above: int, below: int) -> Line:
        """Say nothing while following."""
        return BLANK if self.follows else super().out_of_view(above, below)

    def scroll_by(self, lines: int) -> None:
        """Move by so many lines; at the end, follow again."""
        self.follows = False
        super().scroll_by(lines)
        room = max(1, self.size.height - 2)
        if self.offset_lines >= len(self._texts()) - room:
            self.follow()

    def follow(self) -> None:
        """Show the newest line from now on."""
        self.follows = True
        self.redraw()
