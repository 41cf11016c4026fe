"""The training's output as lines of a page: broken or cut, with the words that were looked for marked. Pure.

Output is text. Nothing in it is markup, and escape sequences were taken out before it came here.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from perftui.tui.renderables.lines import MORE, Line, Run, clip, line


def found_at(text: str, needle: str) -> list[int]:
    """Return where a text has the needle; capitals count only where the needle has some."""
    if not needle:
        return []
    where = text.lower()
    if needle != needle.lower() or len(where) != len(text):  # a few letters change their length
        where = text
    places: list[int] = []
    at = where.find(needle)
    while at >= 0:
        places.append(at)
        at = where.find(needle, at + len(needle))
    return places


def matching(texts: Sequence[str], needle: str) -> list[int]:
    """Return the places of the texts that have the needle."""
    return [at for at, text in enumerate(texts) if found_at(text, needle)]


def output_line(text: str, needle: str, *, current: bool = False) -> Line:
    """Return one text with the needle marked; `current`: this is where the search stands."""
    runs: list[Run | str] = []
    reached = 0
    for at in found_at(text, needle):
        marked = Run(text[at : at + len(needle)], "on-bar" if current else "key", "key" if current else "")
        runs += [text[reached:at], marked]
        reached = at + len(needle)
    return line(*runs, text[reached:])


def folded(text: str, width: int, *, wrap: bool) -> list[str]:
    """Return a text as pieces of at most `width` cells; without `wrap`, whole: it is cut when it is drawn."""
    if not wrap or cell_len(text) <= width or width <= 0:
        return [text]
    return chop_cells(text, width)


class Place(NamedTuple):
    """A line on the screen: one of the pieces into which a text is broken."""

    text: int
    piece: int = 0


TOP = Place(0)


def drawn(
    texts: Sequence[str], top: Place, height: int, width: int, needle: str, current: int | None, *, wrap: bool
) -> list[Line]:
    """Return the lines in view, from `top` on; `current` is the text where the search stands."""
    lines: list[Line] = []
    for at in range(top.text, len(texts)):
        if len(lines) >= height:
            break
        here = at == current
        text = texts[at] if wrap or not here else _from_match(texts[at], needle, width)
        pieces = folded(text, width, wrap=wrap)[top.piece if at == top.text else 0 :]
        lines += [clip(output_line(piece, needle, current=here), width) for piece in pieces]
    return lines[:height]


def _from_match(text: str, needle: str, width: int) -> str:
    """Return a text that will be cut from where what was found in it is seen."""
    at = next(iter(found_at(text, needle)), 0)
    return text if cell_len(text[: at + len(needle)]) < width else MORE + text[max(0, at - width // 4) :]


def last_page(texts: Sequence[str], height: int, width: int, *, wrap: bool) -> Place:
    """Return the place from which everything up to the end is in view, and no line is left empty."""
    if not texts:
        return TOP
    end = Place(len(texts) - 1, len(folded(texts[-1], width, wrap=wrap)) - 1)
    return moved(texts, end, 1 - height, width, wrap=wrap)


def moved(texts: Sequence[str], place: Place, lines: int, width: int, *, wrap: bool) -> Place:
    """Return the place so many lines further down, or up (below 0); the ends stay."""
    if not texts:
        return TOP
    text = max(0, min(place.text, len(texts) - 1))
    pieces = len(folded(texts[text], width, wrap=wrap))
    piece = min(place.piece, pieces - 1) + lines
    while piece < 0 and text > 0:
        text -= 1
        piece += len(folded(texts[text], width, wrap=wrap))
    while piece >= pieces and lines > 0 and text < len(texts) - 1:
        piece -= pieces
        text += 1
        pieces = len(folded(texts[text], width, wrap=wrap))
    return Place(text, max(0, piece if lines <= 0 else min(piece, pieces - 1)))


def place_of_match(texts: Sequence[str], at: int, needle: str, width: int, *, wrap: bool) -> Place:
    """Return the place in which the text `at` has the needle for the first time."""
    left = next(iter(found_at(texts[at], needle)), 0)
    for number, piece in enumerate(folded(texts[at], width, wrap=wrap)):
        if left < len(piece):
            return Place(at, number)
        left -= len(piece)
    return Place(at)
