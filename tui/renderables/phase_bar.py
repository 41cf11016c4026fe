"""Where a step goes: a stacked bar and its legend. The measured parts sum to the whole bar."""

from bisect import bisect_right
from itertools import pairwise

from perftui.ipc.view import Shares
from perftui.tui.format import percent
from perftui.tui.renderables.lines import Line, Run, fit, join, join_fitting, line, width_of

_PARTIAL = " ▏▎▍▌▋▊▉"
PHASES = (
    ("loader_wait", "wait", "wait", "w"),
    ("h2d", "copy to GPU", "copy", "c"),
    ("forward", "forward", "fwd", "f"),
    ("backward", "backward", "bwd", "b"),
    ("comm_exposed", "communication", "comm", "m"),
    ("optimizer", "optimizer", "opt", "o"),
    ("other", "other", "other", "."),
)
"""Role and field, long name, short name, letter."""


def measured(shares: Shares) -> list[tuple[str, float]]:
    """Return the measured parts in the order in which a step runs through them, as (role, share)."""
    found = (
        ("loader_wait", shares.loader_wait),
        ("h2d", shares.h2d),
        ("forward", shares.forward),
        ("backward", shares.backward),
        ("comm_exposed", shares.comm_exposed),
        ("optimizer", shares.optimizer),
        ("other", shares.other),
    )
    return [(role, share) for role, share in found if share is not None]


def phase_bar(shares: Shares, width: int, *, textured: bool = False) -> Line:
    """Draw the parts next to each other; with `textured`, by letters instead of colours."""
    parts = measured(shares)
    if not parts:
        return fit(line(Run("not measured yet", "dim")), width)
    return _letters(parts, width) if textured else _blocks(parts, width)


def _edges(parts: list[tuple[str, float]], units: int) -> list[int]:
    total = sum(share for _, share in parts) or 1.0
    edges, reached = [0], 0.0
    for _, share in parts:
        reached += share
        edges.append(round(reached / total * units))
    return edges


def _letters(parts: list[tuple[str, float]], width: int) -> Line:
    letters = {role: letter for role, _, _, letter in PHASES}
    edges = _edges(parts, width)
    return line(
        *(
            Run(letters[role] * (edges[index + 1] - edges[index]), role)
            for index, (role, _) in enumerate(parts)
        )
    )


def _blocks(parts: list[tuple[str, float]], width: int) -> Line:
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
        else Run("█" * (end - start), parts[bisect_right(edges, start * 8) - 1][0])
        for start, end in pairwise(sorted(bounds))
    )


def _mixed_cell(parts: list[tuple[str, float]], edges: list[int], cell: int) -> Run:
    first, last = cell * 8, cell * 8 + 8
    inside = [
        (min(edges[index + 1], last) - max(edges[index], first), index)
        for index in range(len(parts))
        if edges[index] < last and edges[index + 1] > first and edges[index] < edges[index + 1]
    ]
    left, right = sorted(sorted(inside, reverse=True)[:2], key=lambda part: part[1])
    return Run(_PARTIAL[max(1, min(7, left[0]))], parts[left[1]][0], parts[right[1]][0])


def legend(shares: Shares, width: int, *, textured: bool = False) -> Line:
    """Name the parts with their shares; short names, then fewer parts, where room is scarce."""
    names = {role: (letter, long, short) for role, long, short, letter in PHASES}
    parts = [part for part in measured(shares) if part[1] > 0.0005 or part[0] == "loader_wait"]

    def entry(role: str, share: float, *, short: bool) -> Line:
        letter, long_name, short_name = names[role]
        key = Run(f"{letter}=" if textured else "■ ", role)
        return line(key, Run(f"{short_name if short else long_name} ", "dim"), Run(percent(share), "text"))

    gap = line("  ")
    spelled_out = join((entry(role, share, short=False) for role, share in parts), gap)
    if width_of(spelled_out) <= width:
        return spelled_out
    abbreviated = {role: entry(role, share, short=True) for role, share in parts}
    by_size = sorted(parts, key=lambda part: -part[1] if part[0] != "loader_wait" else -1.0)
    kept = join_fitting([abbreviated[role] for role, _ in by_size], gap, width)
    chosen = [abbreviated[role] for role, _ in parts if set(abbreviated[role]) <= set(kept)]
    return join(chosen, gap)
