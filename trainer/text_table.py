"""Tables in plain text, and the dash of what was not measured."""

from collections.abc import Sequence

from perftui.ipc.figures import figure

NEVER = "—"
"""What was not measured."""


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Return rows as aligned columns; columns in `right` end at the same place."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def fine(value: float | None, least_decimals: int = 2) -> str:
    """Return a figure that may be small with three digits that count, or the dash."""
    return NEVER if value is None else figure(value, least_decimals)


def number(value: float | None, form: str = ".1f") -> str:
    """Return a figure, or the dash of what was not measured."""
    return NEVER if value is None else format(value, form)
