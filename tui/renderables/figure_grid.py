"""Figures in columns, each with its name; those never measured below, with the reason. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perftui.tui import format as fmt
from perftui.tui.renderables.lines import Line, Run, clip, fit, line, wrap

_CELL = 36
_NAME = 16
_UNKNOWN = "not read"


class Figure(NamedTuple):
    """One figure: its name, its value as text (None: never measured), the field that has the reason."""

    name: str
    value: str | None
    field: str = ""
    role: str = "text"


def share_figure(name: str, share: float | None, field: str) -> Figure:
    """Return a share of something (0 to 1)."""
    return Figure(name, None if share is None else fmt.percent(share), field)


def memory_figure(name: str, mib: float | None, field: str) -> Figure:
    """Return an amount of memory."""
    return Figure(name, None if mib is None else fmt.mebibytes(mib), field)


def used_figure(name: str, used_mib: float | None, total_mib: float | None, field: str) -> Figure:
    """Return how much memory is used, of how much."""
    return Figure(name, None if used_mib is None else fmt.used_of(used_mib, total_mib), field)


def figure_grid(figures: Sequence[Figure], missing: Mapping[str, str], width: int) -> list[Line]:
    """Draw them in as many columns as fit, read from top to bottom; reasons of missing ones once each."""
    known = [figure for figure in figures if figure.value is not None]
    columns = max(1, min(4, width // _CELL))
    rows = -(-len(known) // columns)
    cell = width // columns
    drawn = [
        clip(tuple(run for figure in known[row::rows] for run in _cell(figure, cell)), width)
        for row in range(rows)
    ]
    return [*drawn, *_missing(figures, missing, width)]


def _cell(figure: Figure, width: int) -> Line:
    name = fit(line(Run(figure.name, "dim")), _NAME)
    return fit(clip(line(*name, " ", Run(figure.value or "", figure.role)), width - 2), width)


def _missing(figures: Sequence[Figure], missing: Mapping[str, str], width: int) -> list[Line]:
    """Name what is not known, by reason."""
    by_reason: dict[str, list[str]] = {}
    for figure in figures:
        if figure.value is None:
            reason = fmt.clean(missing.get(figure.field, "")) or _UNKNOWN
            by_reason.setdefault(reason, []).append(figure.name)
    drawn: list[Line] = []
    for reason, names in by_reason.items():
        words = f"{', '.join(names)}: {reason}"
        drawn += [
            (Run(f"{fmt.NOTHING} " if index == 0 else "  ", "dim"), *part)
            for index, part in enumerate(wrap(words, width - 2, "dim"))
        ]
    return drawn
