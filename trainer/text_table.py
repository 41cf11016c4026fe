"""Tables in plain text, and the dash of what was not measured."""

import unicodedata
from collections.abc import Sequence

from perftui.ipc.figures import figure

NEVER = "—"
"""What was not measured."""


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Return rows as aligned columns; columns in `right` end at the same place."""
    widths = [max(width_of(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells: list[str] = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - width_of(cell))
            cells.append(blanks + cell if at in right else cell + blanks)
        lines.append("  ".join(cells).rstrip())
    return lines


def width_of(text: str) -> int:
    """Return how many cells of a terminal a text takes: two a wide character, none a mark that combines."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
        if unicodedata.category(character) not in ("Mn", "Me")
    )


def fine(value: float | None, least_decimals: int = 2) -> str:
    """Return a figure that may be small with three digits that count, or the dash."""
    return NEVER if value is None else figure(value, least_decimals)


def number(value: float | None, form: str = ".1f") -> str:
    """Return a figure, or the dash of what was not measured."""
    return NEVER if value is None else format(value, form)
