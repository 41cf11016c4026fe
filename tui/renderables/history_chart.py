"""Step time over steps as a filled area, its lower part the time waited for the loader; newest at the right.

In braille (two steps a cell, four levels a row) or in blocks (one step a cell, eight levels a row).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from perftui.tui.glyphs import ChartStyle
from perftui.tui.renderables.lines import Line, Run, fit, line

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Bits of a braille cell's left and right column, from the bottom up."""
_BRAILLE = [
    [chr(0x2800 + sum(_DOTS[0][:left]) + sum(_DOTS[1][:right])) for right in range(5)] for left in range(5)
]
"""The braille cell by how high its left and its right column are filled."""
_BRAILLE[0][0] = " "
_BLOCKS = " ▁▂▃▄▅▆▇█"
WAIT_PATTERN = "▒"
_LABEL = 8
_HEADROOM = 2.0
"""The scale ends at this many medians, so that one slow step does not flatten all others."""


@dataclass(frozen=True)
class Points:
    """Steps as columns of equal length, oldest first; times in ms."""

    step: Sequence[int]
    wall_ms: Sequence[float]
    wait_ms: Sequence[float]


@dataclass(frozen=True)
class ChartMark:
    """Something that happened at a step."""

    step: int
    text: str


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
    rows, cells = height - 1, width - _LABEL
    if rows < 2 or cells < 16:
        return []
    per_cell = 2 if style == "braille" else 1
    columns = _pooled(points, cells * per_cell)
    if not columns:
        return [fit(line(Run("no step yet", "dim")), width), *[()] * (height - 1)]
    top = _scale([column.wall for column in columns])
    padded = [None] * (cells * per_cell - len(columns)) + list(columns)
    if style == "braille":
        body = _braille_rows(padded, rows, top)
    else:
        body = _block_rows(padded, rows, top, WAIT_PATTERN if textured else "")
    labels = {0: _tick(top), rows // 2: _tick(top * (rows - rows // 2) / rows)}
    lines = [
        (Run(f"{labels.get(row, ''):>{_LABEL - 1}} ", "dim"), *_capped(body[row], padded, per_cell, top, row))
        for row in range(rows)
    ]
    return [*lines, _axis(columns, cells, per_cell, marks)]


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


def _scale(walls: Sequence[float]) -> float:
    """Return a round top of the axis (ms) that holds the data, or most of it where one step towers."""
    wanted = min(max(walls), _HEADROOM * median(walls)) or 1.0
    magnitude = 10.0 ** (len(f"{int(wanted)}") - 1) if wanted >= 1 else 0.1
    for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10):
        if magnitude * step >= wanted:
            return magnitude * step
    return wanted


def _tick(value_ms: float) -> str:
    return f"{value_ms:.3g} ms" if value_ms < 1000 else f"{value_ms / 1000:.3g} s"


def _levels(value: float, top: float, levels: int) -> int:
    return max(1, min(levels, round(value / top * levels))) if value > 0 else 0


def _braille_rows(columns: Sequence[_Column | None], rows: int, top: float) -> list[Line]:
    walls = [_levels(column.wall, top, rows * 4) if column else 0 for column in columns]
    waits = [_levels(column.wait, top, rows * 4) if column else 0 for column in columns]
    drawn: list[Line] = []
    for row in range(rows):
        base = (rows - 1 - row) * 4
        filled = [0 if wall <= base else min(4, wall - base) for wall in walls]
        drawn.append(
            _merged(
                [
                    (
                        _BRAILLE[filled[index]][filled[index + 1]],
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
            wall = _levels(column.wall, top, rows * 8) if column else 0
            wait = _levels(column.wait, top, rows * 8) if column else 0
            glyph = _BLOCKS[max(0, min(8, wall - base))]
            waiting = wait >= base + 4
            glyph = pattern if waiting and pattern else glyph
            cells.append((glyph, "loader_wait" if waiting else "accent"))
        drawn.append(_merged(cells))
    return drawn


def _merged(cells: Sequence[tuple[str, str]]) -> Line:
    """Join cells of one role; a blank has the role of what stands before it."""
    runs: list[Run] = []
    glyphs, last = "", cells[0][1] if cells else ""
    for glyph, role in cells:
        if role != last and glyph != " ":
            runs.append(Run(glyphs, last))
            glyphs, last = "", role
        glyphs += glyph
    return (*runs, Run(glyphs, last))


def _capped(row_line: Line, columns: Sequence[_Column | None], per_cell: int, top: float, row: int) -> Line:
    """In the top row, mark the columns that the scale cuts off."""
    if row:
        return row_line
    glyphs = list("".join(run.text for run in row_line))
    roles = [run.role for run in row_line for _ in run.text]
    for index, column in enumerate(columns):
        if column and column.wall > top * 1.001:
            glyphs[index // per_cell], roles[index // per_cell] = "▲", "warning"
    return _merged(list(zip(glyphs, roles, strict=True)))


def _axis(columns: Sequence[_Column], cells: int, per_cell: int, marks: Sequence[ChartMark]) -> Line:
    """Draw step numbers at both ends and, between them, what happened."""
    start = cells - -(-len(columns) // per_cell)
    first, last = f"{columns[0].step:,}", f"step {columns[-1].step:,}"
    text = [" "] * cells
    roles = ["dim"] * cells
    _write(text, cells - len(last), last)
    if start + len(first) + 2 < cells - len(last):
        _write(text, start, first)
    steps = [column.step for column in columns]
    for mark in marks:
        if steps[0] <= mark.step <= steps[-1]:
            index = sum(step < mark.step for step in steps)
            cell = start + index // per_cell
            _place(text, roles, cell, mark.text)
    runs = [(glyph, role) for glyph, role in zip(text, roles, strict=True)]
    return (Run(f"{'0':>{_LABEL - 2}}  ", "dim"), *_merged_exactly(runs))


def _write(text: list[str], at: int, words: str) -> None:
    text[at : at + len(words)] = list(words)


def _place(text: list[str], roles: list[str], cell: int, words: str) -> None:
    """Put a mark with its words where they are free, else the mark alone, else nothing."""
    for label in (f"◆{words}", "◆"):
        end = cell + len(label)
        if end <= len(text) and all(glyph == " " for glyph in text[max(0, cell - 1) : end + 1]):
            _write(text, cell, label)
            roles[cell:end] = ["note"] * len(label)
            return


def _merged_exactly(cells: Sequence[tuple[str, str]]) -> Line:
    runs: list[Run] = []
    for glyph, role in cells:
        if runs and runs[-1].role == role:
            runs[-1] = runs[-1]._replace(text=runs[-1].text + glyph)
        else:
            runs.append(Run(glyph, role))
    return tuple(runs)
