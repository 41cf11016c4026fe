"""What charts over steps share: the scale, its labels, joined cells, and the axis with what happened."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from perftui.tui.renderables.lines import Line, Run

LABEL = 8
_HEADROOM = 2.0
"""The scale ends at this many medians, so that one slow step does not flatten all others."""


@dataclass(frozen=True)
class ChartMark:
    """Something that happened at a step."""

    step: int
    text: str


def scale(walls: Sequence[float]) -> float:
    """Return a round top of the axis (ms) that holds the data, or most of it where one step towers."""
    wanted = min(max(walls), _HEADROOM * median(walls)) or 1.0
    magnitude = 10.0 ** (len(f"{int(wanted)}") - 1) if wanted >= 1 else 0.1
    for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10):
        if magnitude * step >= wanted:
            return magnitude * step
    return wanted


def tick(value_ms: float) -> str:
    """Return a label of the axis."""
    return f"{value_ms:.3g} ms" if value_ms < 1000 else f"{value_ms / 1000:.3g} s"


def ticks(top_ms: float, rows: int) -> dict[int, str]:
    """Return the labels of the axis by row: its top, and half of it, in its row."""
    return {0: tick(top_ms), rows // 2: tick(top_ms / 2)}


def levels(value: float, top: float, most: int) -> int:
    """Return how high a value stands, of `most` levels; what is not 0 is seen."""
    return max(1, min(most, round(value / top * most))) if value > 0 else 0


def merged(cells: Sequence[tuple[str, str]]) -> Line:
    """Join cells of one role; a blank has the role of what stands before it."""
    runs: list[Run] = []
    glyphs, last = "", cells[0][1] if cells else ""
    for glyph, role in cells:
        if role != last and glyph != " ":
            runs.append(Run(glyphs, last))
            glyphs, last = "", role
        glyphs += glyph
    return (*runs, Run(glyphs, last))


def axis(
    steps: Sequence[int], last_step: int, start: int, cells: int, per_cell: int, marks: Sequence[ChartMark]
) -> Line:
    """Draw step numbers at both ends and, between them, what happened.

    Args:
        steps: first step of each column, ascending.
        last_step: the last step of the last column.
        start: cell of the first column.
        cells: room for all columns.
        per_cell: columns in a cell.
        marks: what happened.
    """
    first, last = f"{steps[0]:,}", _last(last_step, cells)
    text = [" "] * cells
    roles = ["dim"] * cells
    _write(text, cells - len(last), last)
    if start + len(first) + 2 < cells - len(last):
        _write(text, start, first)
    for mark in marks:
        if steps[0] <= mark.step <= last_step:
            index = max(0, bisect_right(steps, mark.step) - 1)
            cell = start + index // per_cell
            _place(text, roles, cell, mark.text)
    runs = [(glyph, role) for glyph, role in zip(text, roles, strict=True)]
    return (Run(f"{'0':>{LABEL - 2}}  ", "dim"), *_merged_exactly(runs))


def _last(step: int, cells: int) -> str:
    """Return how the last step is named where there are so many cells: a number is whole, or not there."""
    return next((words for words in (f"step {step:,}", f"{step:,}") if len(words) <= cells), "")


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
