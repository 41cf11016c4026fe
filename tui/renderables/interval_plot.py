"""An interval on an axis that several share: `───●───` beside the line at zero. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.tui.renderables.lines import Line, Run, line

_ROUNDING = 1e-6
"""Of a cell: a value on the border of two lies in the right one, whatever arithmetic makes of it."""


@dataclass(frozen=True)
class Axis:
    """From where to where, in the unit of the values; zero is always on it."""

    low: float
    high: float

    def cell(self, value: float, width: int) -> int:
        """Return the cell, from 0, in which a value lies; what is outside lies in the last one there."""
        span = self.high - self.low
        place = (value - self.low) / span * width if span > 0 else 0.0
        return max(0, min(width - 1, int(place + _ROUNDING)))


def axis_of(intervals: Sequence[tuple[float, float]]) -> Axis:
    """Return the axis that holds all intervals (low, high) and zero."""
    lows, highs = [low for low, _ in intervals], [high for _, high in intervals]
    return Axis(min([0.0, *lows]), max([0.0, *highs]))


def interval_line(axis: Axis, width: int, interval: tuple[float, float, float] | None, role: str) -> Line:
    """Draw (low, middle, high) in `width` cells; None: the line at zero alone.

    An interval on zero hides the line there: then nothing is decided.
    """
    cells = [" "] * width
    roles = ["frame"] * width
    cells[axis.cell(0.0, width)] = "│"
    if interval is not None:
        low, middle, high = (axis.cell(value, width) for value in interval)
        for place in range(low, high + 1):
            cells[place], roles[place] = "─", role
        cells[middle] = "●"
    return line(*(Run(cell, cell_role) for cell, cell_role in zip(cells, roles, strict=True)))
