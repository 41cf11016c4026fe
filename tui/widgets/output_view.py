"""The training's output on a whole screen: it follows the newest line until moved, and can be searched."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.output_lines import drawn, first_of_last_page, matching
from perftui.tui.renderables.page import rule
from perftui.tui.widgets.picture import WheeledPicture, key_names_for

_MARGIN = 1


class OutputView(WheeledPicture, can_focus=True):
    """Texts are known by their number, so that what is looked at stays while new ones come."""

    texts: Sequence[str] = ()
    number = 0
    """Of the last text."""
    first = 0
    """Number of the first text in view, while not following."""
    follows = True
    wraps = False
    needle = ""
    current: int | None = None
    """Number of the text where the search stands."""

    def show(self, texts: Sequence[str], number: int) -> None:
        """Show these texts; `number` is that of the last."""
        if texts != self.texts or number != self.number:
            self.texts, self.number = texts, number
            self.redraw()

    @property
    def _before(self) -> int:
        """Number of the text before the first."""
        return self.number - len(self.texts)

    @property
    def _room(self) -> tuple[int, int]:
        return max(1, self.size.height - 1), max(1, self.size.width - 2 * _MARGIN)

    def draw(self) -> Sequence[Line]:
        """Draw the rule and the texts in view."""
        height, width = self._room
        last_page = first_of_last_page(self.texts, height, width, wrap=self.wraps)
        first = last_page if self.follows else max(0, min(self.first - self._before - 1, last_page))
        self.first = self._before + 1 + first
        current = None if self.current is None else self.current - self._before - 1
        body = drawn(self.texts, first, height, width, self.needle, current, wrap=self.wraps)
        if not self.texts:
            body = [line(Run("nothing printed so far", "dim"))]
        return [
            rule(self._title(), self._remark(first), self.size.width),
            *((Run(" "), *part) for part in body),
        ]

    def _title(self) -> Line:
        kept = f" newest {len(self.texts):,} lines" if self._before > 0 else f" {len(self.texts):,} lines"
        held = "" if self.follows else f"  held; {key_names_for(self)['follow']} follows again"
        return line(Run("output", "title"), Run(kept, "dim"), Run(held, "key"))

    def _remark(self, first: int) -> Line:
        if self.needle:
            places = matching(self.texts, self.needle)
            numbers = [self._before + 1 + at for at in places]
            at = numbers.index(self.current) + 1 if self.current in numbers else 0
            found = f"{at} of {len(places)}" if places else "nowhere"
            return line(Run(f"/{self.needle}  ", "key"), Run(found, "value" if places else "warning"))
        return line(Run(f"line {self._before + 1 + first:,}", "dim"))

    def scroll_by(self, lines: int) -> None:
        """Move by so many texts; at the end, follow again."""
        height, width = self._room
        last_page = first_of_last_page(self.texts, height, width, wrap=self.wraps)
        at = self.first - self._before - 1 + lines
        self.follows = at >= last_page
        self.first = self._before + 1 + max(0, at)
        self.redraw()

    def turn(self, pages: int) -> None:
        """Move by pages."""
        self.scroll_by(pages * max(1, self.size.height - 2))

    def follow(self) -> None:
        """Show the newest from now on."""
        self.follows = True
        self.redraw()

    def wrap(self) -> None:
        """Break long texts, or cut them."""
        self.wraps = not self.wraps
        self.redraw()

    def look_for(self, needle: str) -> None:
        """Mark these words, and go to the newest text that has them, at or above what is in view."""
        self.needle, self.current = needle, None
        places = matching(self.texts, needle)
        if places:
            below = self.first - self._before - 1 + self._room[0]
            self._stand_at(next((at for at in reversed(places) if at < below), places[0]))
        self.redraw()

    def go(self, by: int) -> None:
        """Go to the next text with the words (1) or the one before (-1), round the end."""
        places = matching(self.texts, self.needle)
        if not places:
            return
        here = self.current - self._before - 1 if self.current is not None else len(self.texts)
        later, earlier = [at for at in places if at > here], [at for at in places if at < here]
        self._stand_at((later or places)[0] if by > 0 else (earlier or places)[-1])
        self.redraw()

    def _stand_at(self, at: int) -> None:
        """Let the search stand at a text, and bring it into view."""
        self.current = self._before + 1 + at
        height, _ = self._room
        first = self.first - self._before - 1
        if not first <= at < first + height:
            self.follows = False
            self.first = self._before + 1 + max(0, at - height // 2)
