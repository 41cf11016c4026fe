"""Ranks over steps: a row a rank or band of ranks, a column a block of steps, the darker the later it was."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from perftui.ipc.findings import Finding
from perftui.ipc.rank_map import RankBand, RankMap, RankMeasure
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.renderables.bars import bar_rows, top_of
from perftui.tui.renderables.chart_parts import LABEL, ChartMark, axis, merged
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line, spread, wrap

HeatStyle: TypeAlias = Literal["braille", "block", "ascii"]
RIGHT = 18
"""Cells at the right of a row: who was the latest of it, and by how much."""
_ROLES = ("dim", "text", "heat1", "heat2", "heat3")
_SHADES: dict[HeatStyle, str] = {"braille": "⠂⠒⠶⡷⣿", "block": "·░▒▓█", "ascii": ".:+%#"}
_FROM = (0.02, 0.05, 0.1, 0.2)
"""Shares of the step from which the next shade begins: the same on every run, so that pictures compare."""
_WORDS = ("under 2 %", "2 %", "5 %", "10 %", "20 % and more")
MEASURES: dict[RankMeasure, str] = {
    "wait": "waiting for the loader",
    "before": "what each did before the exchange (the step without backward and optimizer)",
    "step": "the whole step",
}


class HeatRow(NamedTuple):
    """A row, named by its first rank: the latest of several is another one every few steps."""

    first_rank: int
    line: Line


def heat_style(glyphs: Glyphs) -> HeatStyle:
    """Return how shades are drawn here: without colours by characters of different weight."""
    return "ascii" if glyphs.textured else glyphs.chart


def measure_for(findings: Sequence[Finding]) -> RankMeasure:
    """Return what to compare at first: the waits, where a finding says that a rank waits for its loader."""
    return "wait" if any(finding.code == "rank.straggler_input" for finding in findings) else "before"


def columns_for(width: int) -> int:
    """Return how many blocks a picture of this width has room for."""
    return max(1, width - LABEL - RIGHT)


def heat_rows(found: RankMap, width: int, style: HeatStyle = "braille") -> list[HeatRow]:
    """Draw one row a band of ranks."""
    cells = columns_for(width)
    if cells < 8:
        return []
    return [HeatRow(band.first_rank, _row(band, found, cells, style)) for band in found.bands]


def _row(band: RankBand, found: RankMap, cells: int, style: HeatStyle) -> Line:
    several = band.last_rank > band.first_rank
    name = f"{band.first_rank}-{band.last_rank}" if several else f"{band.first_rank}"
    name = name if len(name) < LABEL else f"{band.first_rank}…"  # the next row says where it ends
    count = len(band.excess_share)
    shown = [band.excess_share[cell * count // cells] for cell in range(cells)] if count else []
    shades = _SHADES[style]
    body = merged([_shade(value, shades) for value in shown]) if shown else BLANK
    if band.mean_share is None:
        return line(Run(f"{name:<{LABEL}}", "dim"), *body, Run(f"{fmt.NOTHING:>{RIGHT}}", "dim"))
    whose = f"rank {band.worst_rank} " if several else ""
    level = _level(max(0.0, band.mean_share))
    tail = f"{whose}{fmt.gain(band.mean_share)}" if found.ranks > 1 else ""
    return line(Run(f"{name:<{LABEL}}", "dim"), *body, Run(f"{tail:>{RIGHT}}", _ROLES[level]))


def _shade(value: float | None, shades: str) -> tuple[str, str]:
    if value is None:
        return " ", "dim"
    level = _level(value)
    return shades[level], _ROLES[level]


def _level(value: float) -> int:
    return sum(value >= least for least in _FROM)


def heat_axis(found: RankMap, width: int, marks: Sequence[ChartMark] = ()) -> Line:
    """Draw the numbers of the steps, and what happened."""
    cells = columns_for(width)
    count = len(found.median_ms)
    begin = found.first_step // found.block_steps
    steps = [
        max(found.first_step, (begin + cell * count // cells) * found.block_steps) for cell in range(cells)
    ]
    drawn = axis(steps, found.last_step, 0, cells, 1, marks)
    return (Run(f"{'steps':<{LABEL}}", "dim"), *drawn[1:])


def heat_median(found: RankMap, width: int, height: int, style: HeatStyle = "braille") -> list[Line]:
    """Draw how long the median rank's step took, over so many lines (at least two)."""
    known = [value for value in found.median_ms if value is not None]
    if not known or columns_for(width) < 8:
        return []
    top = top_of(known)
    heights = [None if value is None else value / top for value in found.median_ms]
    rows = bar_rows(heights, columns_for(width), height, "braille" if style == "braille" else "block")
    tails = (f"{fmt.milliseconds(max(known))}", "highest", *[""] * (height - 2))
    names = ("median", "step", *[""] * (height - 2))
    return [
        line(Run(f"{name:<{LABEL}}", "dim"), Run(row, "accent"), Run(f"{tail:>{RIGHT}}", "dim"))
        for name, row, tail in zip(names, rows, tails, strict=True)
    ]


def heat_key(found: RankMap, width: int, style: HeatStyle = "braille") -> list[Line]:
    """Say what the shades are, and what was compared."""
    shades = _SHADES[style]
    keys = [
        line(Run(f"{shade} ", role), Run(word, "dim"))
        for shade, role, word in zip(shades, _ROLES, _WORDS, strict=True)
    ]
    size = found.block_steps
    each = "a step a column" if size == 1 else f"{size:,} steps a column"
    looked = f", {found.looked_steps} of them looked at" if found.looked_steps < size else ""
    about = f"longer than the median rank, in % of its step: {MEASURES[found.measure]}"
    lines = [spread(join_fitting(keys, line("  "), width), line(Run(f"{each}{looked}", "dim")), width)]
    lines += wrap(about, width, "dim")
    if found.first_step < found.exact_from:
        lines += wrap(
            f"before step {found.exact_from:,} steps are not kept one by one, and ranks cannot be compared",
            width,
            "dim",
        )
    return lines
