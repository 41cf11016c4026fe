"""Step time over steps as a filled area, its lower part the time waited for the loader; newest at the right.

In braille (two steps a cell, four levels a row) or in blocks (one step a cell, eight levels a row).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.tui.glyphs import ChartStyle
from perftui.tui.renderables.bars import BLOCKS, BRAILLE
from perftui.tui.renderables.chart_parts import LABEL, ChartMark, axis, levels, merged, scale, ticks
from perftui.tui.renderables.lines import Line, Run, fit, line

WAIT_PATTERN = "▒"


@dataclass(frozen=True)
class Points:
    """Steps as columns of equal length, oldest first; times in ms."""

    step: Sequence[int]
    wall_ms: Sequence[float]
    wait_ms: Sequence[float]


@dataclass(frozen=True)
class _Column:
    step: int
    wall: float
    wait: float


def history_chart(
    points: Points,
    width: int,
    height: int,
    style: ChartStyle = "braille",
    marks: Sequence[ChartMark] = (),
    *,
    textured: bool = False,
) -> list[Line]:
    """Draw a chart of `height` lines, the last of which is the axis; it has room from 24 x 3 on.

    With `textured`, blocks show the wait by a pattern and not only by its colour.
    """
    rows, cells = height - 1, width - LABEL
    if rows < 2 or cells < 16:
        return []
    per_cell = 2 if style == "braille" else 1
    columns = _pooled(points, cells * per_cell)
    if not columns:
        return [fit(line(Run("no step yet", "dim")), width), *[()] * (height - 1)]
    top = scale([column.wall for column in columns])
    padded = [None] * (cells * per_cell - len(columns)) + list(columns)
    if style == "braille":
        body = _braille_rows(padded, rows, top)
    else:
        body = _block_rows(padded, rows, top, WAIT_PATTERN if textured else "")
    labels = ticks(top, rows)
    lines = [
        (Run(f"{labels.get(row, ''):>{LABEL - 1}} ", "dim"), *_capped(body[row], padded, per_cell, top, row))
        for row in range(rows)
    ]
    steps = [column.step for column in columns]
    start = cells - -(-len(columns) // per_cell)
    return [*lines, axis(steps, steps[-1], start, cells, per_cell, marks)]


def _pooled(points: Points, room: int) -> list[_Column]:
    """Pool neighbours by their slowest step, in groups aligned to the step number, so that charts scroll."""
    if not points.step or room <= 0:
        return []
    span = points.step[-1] - points.step[0] + 1
    size = max(1, -(-span // room))
    found: dict[int, _Column] = {}
    for step, wall, wait in zip(points.step, points.wall_ms, points.wait_ms, strict=True):
        known = found.get(step // size)
        if known is None or wall > known.wall:
            found[step // size] = _Column(step, wall, wait)
    return list(found.values())[-room:]


def _braille_rows(columns: Sequence[_Column | None], rows: int, top: float) -> list[Line]:
    walls = [levels(column.wall, top, rows * 4) if column else 0 for column in columns]
    waits = [levels(column.wait, top, rows * 4) if column else 0 for column in columns]
    drawn: list[Line] = []
    for row in range(rows):
        base = (rows - 1 - row) * 4
        filled = [0 if wall <= base else min(4, wall - base) for wall in walls]
        drawn.append(
            merged(
                [
                    (
                        BRAILLE[filled[index]][filled[index + 1]],
                        "loader_wait" if waits[index] + waits[index + 1] >= 2 * base + 4 else "accent",
                    )
                    for index in range(0, len(columns), 2)
                ]
            )
        )
    return drawn


def _block_rows(columns: Sequence[_Column | None], rows: int, top: float, pattern: str) -> list[Line]:
    drawn: list[Line] = []
    for row in range(rows):
        base = (rows - 1 - row) * 8
        cells: list[tuple[str, str]] = []
        for column in columns:
            wall = levels(column.wall, top, rows * 8) if column else 0
            wait = levels(column.wait, top, rows * 8) if column else 0
            glyph = BLOCKS[max(0, min(8, wall - base))]
            waiting = wait >= base + 4
            glyph = pattern if waiting and pattern else glyph
            cells.append((glyph, "loader_wait" if waiting else "accent"))
        drawn.append(merged(cells))
    return drawn


def _capped(row_line: Line, columns: Sequence[_Column | None], per_cell: int, top: float, row: int) -> Line:
    """In the top row, mark the columns that the scale cuts off."""
    if row:
        return row_line
    glyphs = list("".join(run.text for run in row_line))
    roles = [run.role for run in row_line for _ in run.text]
    for index, column in enumerate(columns):
        if column and column.wall > top * 1.001:
            glyphs[index // per_cell], roles[index // per_cell] = "▲", "warning"
    return merged(list(zip(glyphs, roles, strict=True)))
