"""The training's output on a whole screen: it follows the newest line until moved, and can be searched."""

from collections.abc import Sequence

from perftui.tui.renderables.lines import Line, Run, clip, line
from perftui.tui.renderables.output_lines import (
    TOP,
    Place,
    drawn,
    last_page,
    matching,
    moved,
    place_of_match,
)
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
    piece = 0
    """Which of the pieces into which that text is broken comes first."""
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

    @property
    def _top(self) -> Place:
        """The first place in view."""
        return Place(max(0, self.first - self._before - 1), self.piece)

    def _stand_on(self, top: Place) -> None:
        """Let this place come first in view."""
        self.first, self.piece = self._before + 1 + top.text, top.piece

    def _by(self, place: Place, lines: int) -> Place:
        return moved(self.texts, place, lines, self._room[1], wrap=self.wraps)

    def draw(self) -> Sequence[Line]:
        """Draw the rule and the texts in view."""
        height, width = self._room
        last = last_page(self.texts, height, width, wrap=self.wraps)
        self._stand_on(last if self.follows else min(self._by(self._top, 0), last))
        current = None if self.current is None else self.current - self._before - 1
        body = drawn(self.texts, self._top, height, width, self.needle, current, wrap=self.wraps)
        if not self.texts:
            body = [line(Run("nothing printed so far", "dim"))]
        return [
            rule(self._title(), self._remark(), self.size.width),
            *((Run(" "), *part) for part in body),
        ]

    def _title(self) -> Line:
        kept = f" newest {len(self.texts):,} lines" if self._before > 0 else f" {len(self.texts):,} lines"
        held = "" if self.follows else f"  held; {key_names_for(self)['follow']} follows again"
        return line(Run("output", "title"), Run(kept, "dim"), Run(held, "key"))

    def _remark(self) -> Line:
        if self.needle:
            places = matching(self.texts, self.needle)
            numbers = [self._before + 1 + at for at in places]
            at = numbers.index(self.current) + 1 if self.current in numbers else 0
            found = Run(
                f"  {at} of {len(places)}" if places else "  nowhere", "value" if places else "warning"
            )
            return line(*clip(line(Run(f"/{self.needle}", "key")), max(2, self.size.width // 3)), found)
        return line(Run(f"line {self.first:,}" if self.texts else "", "dim"))

    def scroll_by(self, lines: int) -> None:
        """Move by so many lines; at the end, follow again."""
        height, width = self._room
        top = self._by(self._top, lines)
        self.follows = top >= last_page(self.texts, height, width, wrap=self.wraps)
        self._stand_on(top)
        self.redraw()

    def go_first(self) -> None:
        """Show the oldest text that is kept."""
        height, width = self._room
        self.follows = last_page(self.texts, height, width, wrap=self.wraps) == TOP
        self._stand_on(TOP)
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
            below = self._by(self._top, self._room[0] - 1).text
            self._stand_at(next((at for at in reversed(places) if at <= below), places[0]))
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
        height, width = self._room
        place = place_of_match(self.texts, at, self.needle, width, wrap=self.wraps)
        if not self._top <= place <= self._by(self._top, height - 1):
            self.follows = False
            self._stand_on(self._by(place, -(height // 2)))
