"""Step time over a stretch of the run: an area up to the median, on it a lighter band up to p99.

Its lower part is the mean wait for the loader. One block of steps has one column, or several where there are
few. Where older steps were thinned the area goes up to the mean, and the band to the slowest.
"""

from collections.abc import Sequence
from typing import NamedTuple

from perftui.ipc.step_history import StepHistory
from perftui.tui.renderables.chart_parts import LABEL, ChartMark, axis, levels, scale, ticks
from perftui.tui.renderables.lines import Line, Run, fit, join_fitting, line

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAND, _WAIT = "░", "▒"
BAND_ROLE = "other"


class _Column(NamedTuple):
    middle: float
    high: float
    wait: float


def columns_for(width: int) -> int:
    """Return how many blocks a chart of this width has room for."""
    return max(1, width - LABEL)


def band_chart(
    history: StepHistory | None,
    width: int,
    height: int,
    marks: Sequence[ChartMark] = (),
    *,
    textured: bool = False,
) -> list[Line]:
    """Draw a chart of `height` lines, the last of which is the axis; `textured`: by patterns, not colours."""
    rows, cells = height - 1, width - LABEL
    if rows < 2 or cells < 16:
        return []
    columns = _columns(history)
    known = [column.high for column in columns if column]
    if history is None or not known:
        said = "no step yet" if history is not None else "asking the hub …"
        return [fit(line(Run(said, "dim")), width), *[()] * (height - 1)]
    columns = columns[-cells:]
    places = [cell * len(columns) // cells for cell in range(cells)]
    top = scale(known)
    labels = ticks(top, rows)
    lines: list[Line] = []
    for row in range(rows):
        drawn = [_cell(column, (rows - 1 - row) * 8, rows * 8, top, textured=textured) for column in columns]
        label = Run(f"{labels.get(row, ''):>{LABEL - 1}} ", "dim")
        lines.append((label, *_joined([drawn[place] for place in places])))
    begin = history.last_step // history.block_steps - len(columns) + 1
    steps = [max(history.first_step, (begin + place) * history.block_steps) for place in places]
    return [*lines, axis(steps, history.last_step, 0, cells, 1, marks)]


def _columns(history: StepHistory | None) -> list[_Column | None]:
    if history is None:
        return []
    found: list[_Column | None] = []
    parts = (history.p50_ms, history.p99_ms, history.mean_ms, history.slowest_ms, history.wait_ms)
    for p50, p99, mean, slowest, wait in zip(*parts, strict=True):
        middle, high = (p50, p99) if p50 is not None else (mean, slowest)
        if middle is None:
            found.append(None)
        else:
            found.append(_Column(middle, max(middle, high or middle), min(middle, wait or 0.0)))
    return found


def _cell(column: _Column | None, base: int, most: int, top: float, *, textured: bool) -> Run:
    """Return one cell of a column, whose lower edge is at level `base`."""
    if column is None:
        return Run(" ")
    middle, high, wait = (levels(value, top, most) for value in column)
    if column.high > top * 1.001 and base == most - 8:
        return Run("▲", "warning")
    role = "loader_wait" if wait >= base + 4 else "accent"
    if middle > base:
        full = _BLOCKS[min(8, middle - base)]
        if textured:
            return Run(_WAIT if role == "loader_wait" else full, role)
        if middle >= base + 8 and base < wait < base + 8:
            return Run(_BLOCKS[wait - base], "loader_wait", "accent")
        banded = middle < base + 8 and high >= base + 8
        return Run(full, role, BAND_ROLE if banded else "")
    if high > base:
        return Run(_BAND if textured else _BLOCKS[min(8, high - base)], BAND_ROLE)
    return Run(" ")


def _joined(runs: Sequence[Run]) -> Line:
    joined: list[Run] = []
    for run in runs:
        if joined and (joined[-1].role, joined[-1].back) == (run.role, run.back):
            joined[-1] = joined[-1]._replace(text=joined[-1].text + run.text)
        else:
            joined.append(run)
    return tuple(joined)


def band_key(history: StepHistory | None, width: int, *, textured: bool = False) -> Line:
    """Say what the area, the band and the column are."""
    if history is None:
        return ()
    wait, band = (_WAIT, _BAND) if textured else ("■", "■")
    per = "a step a column" if history.block_steps == 1 else f"{history.block_steps:,} steps a column"
    thinned = history.first_step < history.exact_from and any(
        p50 is None and mean is not None for p50, mean in zip(history.p50_ms, history.mean_ms, strict=True)
    )
    older = f"before step {history.exact_from:,} mean and slowest" if thinned else ""
    parts = [
        line(Run(f"{wait} ", "loader_wait"), Run("wait", "dim")),
        line(Run("■ ", "accent"), Run("p50", "dim")),
        line(Run(f"{band} ", BAND_ROLE), Run("to p99", "dim")),
        line(Run(per, "dim")),
        line(Run(older, "dim")),
    ]
    return join_fitting(parts, line("  "), width)
