"""What else happened over a rank's steps, a line a figure, below the chart of its step time and on its axis.

Each line has its own scale from zero: shares up to 100 %, all else up to the highest, unless a few tower
above the others. The highest stands at the right.
"""

from collections.abc import Sequence
from typing import NamedTuple

from perftui.ipc.step_history import Lane, StepHistory
from perftui.tui import format as fmt
from perftui.tui.glyphs import ChartStyle
from perftui.tui.renderables.bars import bar_rows, top_of
from perftui.tui.renderables.chart_parts import LABEL
from perftui.tui.renderables.lines import BLANK, Line, Run, fit, line, spread, wrap

RIGHT = 11
"""Cells at the right of every line: its highest value."""


class _Look(NamedTuple):
    word: str
    role: str


_LOOKS = {
    "loader_wait": _Look("wait", "loader_wait"),
    "h2d": _Look("copy", "h2d"),
    "forward": _Look("forward", "forward"),
    "backward": _Look("backwd", "backward"),
    "comm_exposed": _Look("comm", "comm_exposed"),
    "optimizer": _Look("optim", "optimizer"),
    "other": _Look("other", "other"),
    "sm_active_share": _Look("SM", "accent"),
    "graphics_share": _Look("busy", "accent"),
    "tensor_active_share": _Look("tensor", "accent"),
    "dram_active_share": _Look("DRAM", "accent"),
    "power_w": _Look("power", "note"),
    "run_busy": _Look("run", "fine"),
    "others_busy": _Look("others", "warning"),
    "pressure_share": _Look("no CPU", "warning"),
    "cpu_share": _Look("each", "fine"),
    "cpu_wait_share": _Look("no CPU", "warning"),
    "blocked_share": _Look("device", "warning"),
    "memory_used_mib": _Look("memory", "note"),
}
_TITLES = {
    "step": ("phases over these steps", ("mean of a step", "means")),
    "gpu": ("GPU activity over these steps", ("means of the seconds before each reading", "means")),
    "workers": (
        "workers over these steps",
        ("cores each, share of time without a core, waiting for a device", "cores each, shares"),
    ),
    "host": (
        "host over these steps",
        ("cores busy with this run and with others, waiting for a CPU, memory", "cores, memory"),
    ),
}
_BATCHES = ("how long they were waited for, · not at all", "waits, · none")


def _heading(title: str, abouts: Sequence[str], width: int) -> Line:
    """Say what the lanes are and, at the right, of what their figures are: at length where there is room."""
    words = (f"{about}; highest" for about in abouts)
    about = next((each for each in words if len(title) + 2 + len(each) <= width), "")
    return spread(line(Run(title, "heading")), line(Run(about, "dim")), width)


def lanes_of(history: StepHistory | None, of: str, width: int, style: ChartStyle = "braille") -> list[Line]:
    """Draw one group of lanes with its title; what none of them measured is one line with the reason."""
    lanes = [lane for lane in history.lanes if lane.of == of] if history else []
    if not lanes:
        return []
    heading = _heading(*_TITLES[of], width)
    cells = width - LABEL - RIGHT
    known = [lane for lane in lanes if lane.values]
    if not known or cells < 16:
        return [heading, *_reasons(lanes, width)]
    return [heading, *(_drawn(lane, cells, style) for lane in known), *_reasons(lanes, width)]


def _drawn(lane: Lane, cells: int, style: ChartStyle) -> Line:
    look = _LOOKS.get(lane.name, _Look(fmt.clean(lane.name)[: LABEL - 1], "accent"))
    most = max((value for value in lane.values if value is not None), default=0.0)
    top = 1.0 if lane.unit == "share" else top_of(lane.values)
    heights = [None if value is None else value / top if top else 0.0 for value in lane.values]
    return line(
        Run(f"{look.word:<{LABEL}}", "dim"),
        Run(bar_rows(heights, cells, 1, style)[0], look.role),
        Run(f"{_figure(most, lane.unit):>{RIGHT}}"),
    )


def _figure(value: float, unit: str) -> str:
    if unit == "share":
        return fmt.percent(value)
    if unit == "ms":
        return fmt.milliseconds(value)
    if unit == "MiB":
        return fmt.mebibytes(value)
    named = f"{fmt.number(value)} {unit}"
    return named if len(named) < RIGHT else fmt.number(value)  # the title of the group has the unit too


def _reasons(lanes: Sequence[Lane], width: int) -> list[Line]:
    """Say which figures are not there, and why: those with one reason together."""
    whys: dict[str, list[str]] = {}
    for lane in lanes:
        if not lane.values:
            look = _LOOKS.get(lane.name)
            whys.setdefault(lane.missing, []).append(look.word if look else lane.name)
    return [
        part
        for why, names in whys.items()
        for part in wrap(f"{fmt.NOTHING} {', '.join(names)}: {fmt.clean(why)}", width, "dim")
    ]


def worker_timeline(history: StepHistory | None, width: int, style: ChartStyle = "braille") -> list[Line]:
    """Draw a line a loader worker: how long the training waited for the batches it made, in each block.

    A worker's own start and end of a batch are not measured: nothing runs in the workers. Where a block has a
    batch of a worker that nobody waited for stands a dot.
    """
    if history is None:
        return []
    heading = _heading("batches of each worker", _BATCHES if history.workers else (), width)
    if not history.workers:
        return [heading, *wrap(f"{fmt.NOTHING} {fmt.clean(history.why_no_workers)}", width, "dim")]
    cells = width - LABEL - RIGHT
    if cells < 16:
        return []
    waits = [wait for lane in history.workers for wait in lane.wait_ms if wait is not None]
    top = top_of(waits)
    drawn: list[Line] = [heading]
    for lane in history.workers:
        mine = [wait for wait in lane.wait_ms if wait is not None]
        heights = [None if wait is None or not top else wait / top for wait in lane.wait_ms]
        bars = bar_rows([_seen(height) for height in heights], cells, 1, style)[0]
        made = bar_rows([1.0 if count else None for count in lane.batches], cells, 1, style)[0]
        row = "".join(
            bar if bar != " " else "·" if there != " " else " " for bar, there in zip(bars, made, strict=True)
        )
        highest = fmt.milliseconds(max(mine)) if mine else fmt.NOTHING
        drawn.append(
            line(Run(f"{lane.worker:<{LABEL}}", "dim"), Run(row, "loader_wait"), Run(f"{highest:>{RIGHT}}"))
        )
    note = "when a worker begins and ends a batch is not measured: nothing of perftui runs in the workers"
    return [*drawn, fit(line(Run(note, "dim")), width) if width >= len(note) else BLANK]


_FELT = 1 / 16


def _seen(height: float | None) -> float | None:
    """Return nothing for a wait that is none beside the highest."""
    return None if height is None or height < _FELT else height
