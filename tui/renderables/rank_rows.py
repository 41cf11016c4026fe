"""Many ranks: one line each, under a heading. Columns go, from the least needed, where room is scarce."""

from collections.abc import Mapping

from perftui.tui.renderables.lines import Line, Run, fit, line, width_of
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_columns import GAP, MARGIN, Medians, RankColumn, columns_for
from perftui.tui.renderables.rank_order import RankOrder

_NONE: Mapping[str, float] = {}


def _aligned(cell: Line, column: RankColumn) -> Line:
    missing = column.width - width_of(cell)
    if column.right and missing > 0:
        return (Run(" " * missing), *cell)
    return fit(cell, column.width)


def rank_heading(width: int, order: RankOrder | None = None, *, absent: frozenset[str] = frozenset()) -> Line:
    """Draw the heading; the column that the ranks are sorted by has an arrow."""
    cells: list[Line] = []
    for column in columns_for(width, absent):
        by = order is not None and order.heading == column.heading
        mark = ("↓" if order.falling else "↑") if by and order is not None else ""
        cells.append(_aligned(line(Run(column.heading + mark, "key" if by else "heading")), column))
    return _row(line(Run(" " * MARGIN)), cells, width)


def rank_row(
    picture: RankPicture,
    width: int,
    *,
    selected: bool = False,
    medians: Medians = _NONE,
    absent: frozenset[str] = frozenset(),
) -> Line:
    """Draw one rank; what is worse than the ranks' medians is hot."""
    cells = [_aligned(column.cell(picture, medians), column) for column in columns_for(width, absent)]
    head = line(
        Run("▶" if selected else " ", "accent"), Run("▲" if picture.view.marks else " ", "critical"), Run(" ")
    )
    return _row(head, cells, width)


def scroll_bar(top: int, rows: int, total: int) -> list[Run]:
    """Draw a bar of `rows` cells that tells which part of all rows is in view; none where all are."""
    if total <= rows:
        return []
    size = max(1, rows * rows // total)
    first = round((rows - size) * top / (total - rows))
    return [
        Run("█", "frame-selected") if first <= row < first + size else Run("│", "track")
        for row in range(rows)
    ]


def _row(head: Line, cells: list[Line], width: int) -> Line:
    runs: list[Run] = [*head]
    for cell in cells:
        runs += [*cell, Run(" " * GAP)]
    return fit(tuple(runs), width)
