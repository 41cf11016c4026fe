"""A whole and its parts: a bar filled from end to end, and a legend of the parts with their shares."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from perftui.tui.format import percent
from perftui.tui.renderables.lines import Line, Run, join, join_fitting, line, width_of

_PARTIAL = " ▏▎▍▌▋▊▉"


class Part(NamedTuple):
    """One part of a whole."""

    role: str
    letter: str
    name: str
    short: str
    share: float
    """0 to 1."""


def stacked_bar(parts: Sequence[Part], width: int, *, textured: bool = False) -> Line:
    """Draw the parts next to each other; with `textured`, by letters instead of colours."""
    cells = max(0, width)  # a box that is narrower than its own edges has none
    return _letters(parts, cells) if textured else _blocks(parts, cells)


def _edges(parts: Sequence[Part], units: int) -> list[int]:
    total = sum(part.share for part in parts) or 1.0
    edges, reached = [0], 0.0
    for part in parts:
        reached += part.share
        edges.append(round(reached / total * units))
    return edges


def _letters(parts: Sequence[Part], width: int) -> Line:
    edges = _edges(parts, width)
    return line(
        *(
            Run(part.letter * (end - start), part.role)
            for part, (start, end) in zip(parts, pairwise(edges), strict=True)
        )
    )


def _blocks(parts: Sequence[Part], width: int) -> Line:
    """Whole cells in one colour; a cell that a border crosses shows the two parts that fill most of it."""
    edges = _edges(parts, width * 8)
    mixed = {edge // 8 for edge in edges[1:-1] if edge % 8}
    bounds = {
        0,
        width,
        *mixed,
        *(cell + 1 for cell in mixed),
        *(edge // 8 for edge in edges if edge % 8 == 0),
    }
    return tuple(
        _mixed_cell(parts, edges, start)
        if start in mixed
        else Run("█" * (end - start), parts[bisect_right(edges, start * 8) - 1].role)
        for start, end in pairwise(sorted(bounds))
    )


def _mixed_cell(parts: Sequence[Part], edges: list[int], cell: int) -> Run:
    first, last = cell * 8, cell * 8 + 8
    inside = [
        (min(edges[index + 1], last) - max(edges[index], first), index)
        for index in range(len(parts))
        if edges[index] < last and edges[index + 1] > first and edges[index] < edges[index + 1]
    ]
    left, right = sorted(sorted(inside, reverse=True)[:2], key=lambda part: part[1])
    return Run(_PARTIAL[max(1, min(7, left[0]))], parts[left[1]].role, parts[right[1]].role)


def bar_legend(
    parts: Sequence[Part], width: int, lead: str = "", *, textured: bool = False, whole: bool = False
) -> Line:
    """Name the parts with their shares; short names, then fewer parts, where room is scarce.

    The part of the role `lead` is the last to go, then the largest. With `whole`, short names go with
    whole percents.
    """

    def entry(part: Part, *, short: bool) -> Line:
        key = Run(f"{part.letter}=" if textured else "■ ", part.role)
        name = part.short if short else part.name
        terse = whole and short and part.share >= 0.01
        share = f"{part.share * 100:.0f} %" if terse else percent(part.share)
        return line(key, Run(f"{name} ", "dim"), Run(share, "text"))

    gap = line("  ")
    spelled_out = join((entry(part, short=False) for part in parts), gap)
    if width_of(spelled_out) <= width:
        return spelled_out
    abbreviated = {part: entry(part, short=True) for part in parts}
    by_size = sorted(parts, key=lambda part: -part.share if part.role != lead else -1.0)
    kept = join_fitting([abbreviated[part] for part in by_size], gap, width)
    return join([abbreviated[part] for part in parts if set(abbreviated[part]) <= set(kept)], gap)
