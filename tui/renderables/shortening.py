"""Sentences in less room than they take: what is left out is the least needed, and never the place. Pure."""

import re

from rich.cells import cell_len

from perftui.tui.renderables.lines import MORE, clause, plain, wrap

_PLACE = re.compile(r"[^\s(]+\.py:\d+(?: [\w.<>]+)?")
"""A line of a script, with the function's name: `train.py:20 augment`."""


def shortened(text: str, width: int) -> str:
    """Return a sentence in `width` cells: up to a clause's end, or with its middle left out for the place."""
    if cell_len(text) <= width:
        return text
    cut, place = clause(text, width), _PLACE.search(text)
    if place is None or place[0] in cut:
        return cut
    kept = without_beginning(place[0], width - len(MORE))
    before = _whole_words(text[: place.start()], width - cell_len(kept) - len(f"{MORE} "))
    return f"{before}{MORE} {kept}" if before else kept


def without_beginning(text: str, width: int) -> str:
    """Return a place in `width` cells: the end of it, with file, line and function, is what is looked for."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return f"{MORE}{text}" if width > 0 else ""


def in_lines(text: str, width: int, most: int) -> list[str]:
    """Return a sentence as up to `most` lines of `width` cells; what the last has no room for is left out."""
    lines = [plain(part) for part in wrap(text, width)] or [""]
    if len(lines) <= most:
        return lines
    kept = lines[: most - 1]
    return [*kept, shortened(" ".join(lines[most - 1 :]), width)]


def _whole_words(text: str, width: int) -> str:
    """Return as many of the first words as fit, without what joins them to the next."""
    fitting = ""
    for word in text.split():
        candidate = f"{fitting} {word}" if fitting else word
        if cell_len(candidate) > width:
            break
        fitting = candidate
    return fitting.rstrip(" ,;:(")
