"""One line of a timeline as cells: each shows the class that covers most of it, shaded by how much is.

Where a span is wide enough, its name stands in it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from perftui.tui.renderables.lines import Run
from perftui.tui.renderables.timeline_index import ClassColumns, TimelineIndex, TrackLine
from perftui.tui.renderables.timeline_view import TimeView, edges
from perftui.tui.renderables.trace_classes import look_of
from perftui.tui.renderables.trace_names import label

_SHADES = ((0.875, "█"), (0.5, "▓"), (0.25, "▒"), (0.0, "░"))
_NAMED_MIN = 5
"""Cells that a span needs to bear its name."""


class Cell(NamedTuple):
    """What lies in one cell."""

    kind: str
    """The class that covers most of it; "" for nothing."""
    share: float
    """Covered by spans of any class, 0 to 1."""


EMPTY = Cell("", 0.0)


def cells_of(track: TrackLine, view: TimeView, cells: int) -> list[Cell]:
    """Return what covers each cell of a view."""
    bounds = edges(view, cells)
    most = [0] * cells
    total = [0] * cells
    kinds = [""] * cells
    for columns in track.classes:
        for cell, covered in _covered(columns, bounds):
            total[cell] += covered
            if covered > most[cell]:
                most[cell], kinds[cell] = covered, columns.name
    return [
        Cell(kind, min(1.0, covered / max(1, bounds[cell + 1] - bounds[cell]))) if kind else EMPTY
        for cell, (kind, covered) in enumerate(zip(kinds, total, strict=True))
    ]


def _covered(columns: ClassColumns, bounds: Sequence[int]) -> list[tuple[int, int]]:
    """Return (cell, ns covered) for the cells that spans of this class lie in."""
    last = bisect_left(columns.starts, bounds[-1])
    first = bisect_left(columns.starts, bounds[0])
    if last == first and (first == 0 or columns.ends[first - 1] <= bounds[0]):
        return []
    found: list[tuple[int, int]] = []
    before, low = columns.until(bounds[0])
    for cell in range(len(bounds) - 1):
        until, low = columns.until(bounds[cell + 1], low)
        if until > before:
            found.append((cell, until - before))
            before = until
    return found


def drawn(cells: Sequence[Cell], *, textured: bool) -> list[Run]:
    """Draw cells as shades of their class's colour, or as its letter: small where half is empty."""
    runs: list[Run] = []
    for kind, share in cells:
        look = look_of(kind)
        if not kind:
            run = Run(" ")
        elif textured:
            run = Run(look.letter if share >= 0.5 else look.letter.lower(), look.role)
        else:
            run = Run(next(shade for least, shade in _SHADES if share >= least), look.role)
        runs.append(run)
    return runs


def name_wide_spans(
    runs: list[Run], index: TimelineIndex, line: int, view: TimeView, *, textured: bool
) -> None:
    """Write the names of spans that are wide enough over their cells, a mark at each one's beginning."""
    track, cells = index.lines[line], len(runs)
    for at, first, last in _wide(index, line, view, cells):
        name = track.names[at]
        look = look_of(index.classes[name])
        begins = track.starts[at] >= view.start_ns
        lead = ("▏" if begins else " ") + (f"{look.letter}:" if textured else "")
        text = lead + label(index.names[name], last - first - len(lead))
        padded = f"{text:<{last - first}}"
        if cell_len(padded) == last - first:  # no wide characters: a cell for each
            runs[first:last] = [Run(character, "on-bar", look.role) for character in padded]


def _wide(index: TimelineIndex, line: int, view: TimeView, cells: int) -> list[tuple[int, int, int]]:
    """Return (span, first cell, cell after the last) of the spans that fill `_NAMED_MIN` cells or more."""
    bounds = edges(view, cells)
    track = index.lines[line]
    found: list[tuple[int, int, int]] = []
    seen = index.touching(line, view.start_ns, view.start_ns + view.span_ns)
    if len(seen) <= cells:
        candidates = list(seen)
    else:
        middles = ((bounds[cell] + bounds[cell + 1]) // 2 for cell in range(0, cells, _NAMED_MIN - 1))
        covering = (index.covering(line, middle) for middle in middles)
        candidates = sorted({at for at in covering if at is not None})
    taken = 0
    for at in candidates:
        first = max(taken, bisect_left(bounds, track.starts[at])) if track.starts[at] > bounds[0] else taken
        last = min(cells, bisect_left(bounds, track.ends[at] + 1) - 1)
        if last - first >= _NAMED_MIN:
            found.append((at, first, last))
            taken = last
    return found
