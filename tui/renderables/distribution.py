"""How many steps took how long: a bar a bin, the median and the 99th percentile on the axis. Pure."""

from collections.abc import Sequence

from perftui.ipc.step_history import StepHistory
from perftui.tui import format as fmt
from perftui.tui.glyphs import ChartStyle
from perftui.tui.renderables.bars import bar_rows
from perftui.tui.renderables.lines import Line, Run, fit, line

_WIDEST = 3
"""Cells a bin."""


def distribution(
    history: StepHistory | None, width: int, height: int, style: ChartStyle = "block"
) -> list[Line]:
    """Draw a picture of `height` lines, the last of which is the axis; nothing without single steps."""
    rows = height - 1
    if history is None or history.stats is None or not history.bins or rows < 1 or width < 24:
        return [fit(line(Run("no single steps of this stretch are kept", "dim")), width)]
    bins, each = _fitted(history.bins, width)
    most = max(bins) or 1
    heights = [count / most for count in bins]
    drawn = [fit(line(Run(row, "accent")), width) for row in bar_rows(heights, len(bins) * each, rows, style)]
    return [*drawn, fit(_axis(history, len(bins) * each), width)]


def _fitted(bins: Sequence[int], width: int) -> tuple[list[int], int]:
    """Return bins that fit, neighbours put together where they must be, and the cells of each."""
    size = -(-len(bins) // width)
    joined = [sum(bins[at : at + size]) for at in range(0, len(bins), size)]
    return joined, max(1, min(_WIDEST, width // len(joined)))


def _axis(history: StepHistory, cells: int) -> Line:
    """Write the ends of the scale, and the median and the 99th percentile where they stand."""
    assert history.stats is not None
    low, high = history.bins_from_ms, history.bins_to_ms
    text = [" "] * cells
    roles = ["dim"] * cells
    left, right = fmt.milliseconds(low), fmt.milliseconds(high)
    for word, value in (("p50", history.stats.p50), ("p99", history.stats.p99)):
        cell = int((value - low) / (high - low) * cells) if high > low else 0
        _put(text, roles, max(0, min(cells - 5, cell)), f"▲{word}", "note")
    _put(text, roles, 0, left, "dim")
    _put(text, roles, cells - len(right), right, "dim")
    runs = [Run(glyph, role) for glyph, role in zip(text, roles, strict=True)]
    return tuple(runs)


def _put(text: list[str], roles: list[str], at: int, words: str, role: str) -> None:
    """Write words where nothing stands yet, with a blank at both ends."""
    end = at + len(words)
    if at >= 0 and end <= len(text) and all(cell == " " for cell in text[max(0, at - 1) : end + 1]):
        text[at:end] = list(words)
        roles[at:end] = [role] * len(words)
