"""The training's output as lines of a page: broken or cut, with the words that were looked for marked. Pure.

Output is text. Nothing in it is markup, and escape sequences were taken out before it came here.
"""

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from perftui.tui.renderables.lines import Line, Run, clip, line


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


def drawn(
    texts: Sequence[str], first: int, height: int, width: int, needle: str, current: int | None, *, wrap: bool
) -> list[Line]:
    """Return the lines in view, from text `first` on."""
    lines: list[Line] = []
    for at in range(first, len(texts)):
        if len(lines) >= height:
            break
        pieces = folded(texts[at], width, wrap=wrap)
        lines += [clip(output_line(piece, needle, current=at == current), width) for piece in pieces]
    return lines[:height]


def first_of_last_page(texts: Sequence[str], height: int, width: int, *, wrap: bool) -> int:
    """Return the first text from which everything up to the end is in view."""
    left = height
    for at in range(len(texts) - 1, -1, -1):
        left -= len(folded(texts[at], width, wrap=wrap))
        if left < 0:
            return at + 1
    return 0
