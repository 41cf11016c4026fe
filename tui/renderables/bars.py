"""Heights as rows of glyphs: blocks (a column a cell, eight levels a row) or braille (two columns, four)."""

from collections.abc import Sequence
from math import ceil

from perftui.tui.glyphs import ChartStyle

BLOCKS = " ▁▂▃▄▅▆▇█"
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Bits of a braille cell's left and right column, from the bottom up."""
BRAILLE = [
    [chr(0x2800 + sum(_DOTS[0][:left]) + sum(_DOTS[1][:right])) for right in range(5)] for left in range(5)
]
"""The braille cell by how high its left and its right column are filled."""
BRAILLE[0][0] = " "


_TAIL, _MOST = 1.5, 0.95


def top_of(values: Sequence[float | None]) -> float:
    """Return the top of a scale from zero that holds all values, or most where a few tower above the others.

    That is 1.5 times the value that 95 % of them do not exceed, or the highest, whichever is less; 0 of none.
    """
    known = sorted(value for value in values if value is not None)
    if not known:
        return 0.0
    most = known[ceil(_MOST * (len(known) - 1))]
    return min(known[-1], _TAIL * most) if most else known[-1]


def bar_rows(
    heights: Sequence[float | None], cells: int, rows: int, style: ChartStyle = "braille"
) -> list[str]:
    """Draw columns of the given heights (0 to 1) over so many cells, top row first; None is left blank.

    Fewer heights than there is room for are drawn wider, more are thinned to their highest. What is not 0 is
    seen.
    """
    per_cell, per_row = (2, 4) if style == "braille" else (1, 8)
    columns = [_level(height, rows * per_row) for height in spread_over(heights, cells * per_cell)]
    drawn: list[str] = []
    for row in range(rows):
        base = (rows - 1 - row) * per_row
        filled = [max(0, min(per_row, level - base)) for level in columns]
        if style == "braille":
            pairs = zip(filled[::2], filled[1::2], strict=True)
            drawn.append("".join(BRAILLE[left][right] for left, right in pairs))
        else:
            drawn.append("".join(BLOCKS[level] for level in filled))
    return drawn


def spread_over(values: Sequence[float | None], room: int) -> list[float | None]:
    """Return exactly `room` values: each several times, or the highest of several."""
    if not values:
        return [None] * room
    count = len(values)
    found: list[float | None] = []
    for place in range(room):
        begin = place * count // room
        known = [v for v in values[begin : max(begin + 1, (place + 1) * count // room)] if v is not None]
        found.append(max(known) if known else None)
    return found


def _level(height: float | None, most: int) -> int:
    return max(1, min(most, round(height * most))) if height else 0
