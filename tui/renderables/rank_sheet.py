"""All about one rank, as sections of a page: where its steps go, their history, its GPU, host and workers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from perftui.ipc.figures import counted
from perftui.ipc.step_history import StepHistory
from perftui.ipc.view import GpuView, HostView, Mark, ProfileView, RankView, WorkerView
from perftui.tui import format as fmt
from perftui.tui.glyphs import ChartStyle
from perftui.tui.renderables.band_chart import band_chart, band_key
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.device_line import device_line
from perftui.tui.renderables.distribution import distribution
from perftui.tui.renderables.figure_grid import figure_grid
from perftui.tui.renderables.gpu_figures import allocator_figures, gpu_figures
from perftui.tui.renderables.history_lanes import RIGHT, lanes_of, worker_timeline
from perftui.tui.renderables.host_figures import host_figures, worker_rows
from perftui.tui.renderables.lines import (
    BLANK,
    Line,
    Run,
    clip,
    join,
    join_fitting,
    line,
    spread,
    width_of,
    wrap,
)
from perftui.tui.renderables.phase_bar import PHASES, measured, phase_bar
from perftui.tui.renderables.rank_card import STATE_MARKS, step_times
from perftui.tui.renderables.stacked_bar import Part, bar_legend
from perftui.tui.renderables.step_chart import marks_of_rank
from perftui.tui.renderables.worker_line import worker_line

_GAP = line("  ")
_RUN_PHASES = (
    ("training", "forward"),
    ("validation", "h2d"),
    ("checkpoint", "comm_exposed"),
    ("compiling", "backward"),
    ("between", "loader_wait"),
    ("starting", "optimizer"),
    ("ending", "other"),
)
_DISTRIBUTION_ROWS = 4


@dataclass(frozen=True)
class RankSheet:
    """All that is shown of one rank."""

    view: RankView
    history: StepHistory | None = None
    marks: Sequence[ChartMark] = ()
    gpu: GpuView | None = None
    host: HostView | None = None
    why_no_history: str = ""

    @property
    def workers(self) -> list[WorkerView]:
        """Its loader workers that were looked at."""
        return [each for each in self.host.workers if each.rank == self.view.rank] if self.host else []


class Room(NamedTuple):
    """What there is to draw on: cells, lines that are seen at once, and how."""

    width: int
    height: int
    style: ChartStyle = "braille"
    textured: bool = False


def chart_marks(
    marks: Sequence[Mark], profiles: Sequence[ProfileView], rank: int, parent: str | None
) -> list[ChartMark]:
    """Return what happened to a rank, by step: events, windows, and the relaunch that it began with."""
    found = marks_of_rank(marks, rank)
    found += [ChartMark(view.start_step, "window") for view in profiles if view.start_step >= 0]
    found += [ChartMark(0, "relaunch")] if parent is not None else []
    return sorted(found, key=lambda mark: mark.step)


def rank_title(view: RankView) -> Line:
    """Return who it is and how it stands."""
    mark, role = STATE_MARKS[view.state]
    suspects = f"  ▲ {', '.join(fmt.clean(code) for code in view.marks)}" if view.marks else ""
    return line(
        Run(f"rank {view.rank}", "title"),
        Run(f" {fmt.clean(view.device)} on {fmt.clean(view.host)}, pid {view.pid}  ", "dim"),
        Run(f"{mark} ", role),
        Run(view.state, "dim"),
        Run(suspects, "critical"),
    )


def rank_sheet(sheet: RankSheet, room: Room) -> list[Line]:
    """Draw all sections below each other; what is asked most stands in the first lines."""
    return [part for section in SECTIONS for part in section(sheet, room)]


def _steps(sheet: RankSheet, room: Room) -> list[Line]:
    """Draw how fast it steps, and every phase with its time and its share."""
    view, width, textured = sheet.view, room.width, room.textured
    rates = [
        line(fmt.number(view.samples_per_s), Run(" samples/s", "dim")) if view.samples_per_s else BLANK,
        line(fmt.count(round(view.tokens_per_s)), Run(" tokens/s", "dim")) if view.tokens_per_s else BLANK,
        line(fmt.number(view.steps_per_s), Run(" steps/s", "dim")),
    ]
    left = line(
        *join(step_times(view, ("mean", "p50", "p90", "p99")), _GAP),
        Run(f"  of {counted(view.window_steps, 'step')}" if width >= 90 else "", "dim"),
    )
    return [
        spread(left, join_fitting(rates, _GAP, width - width_of(left) - 2), width),
        phase_bar(view.shares, width, textured=textured),
        *_phases(view, width, textured=textured),
    ]


def _phases(view: RankView, width: int, *, textured: bool) -> list[Line]:
    """Draw one entry a phase: its share and, of the mean step, its time; those not measured too."""
    shares = dict(measured(view.shares))
    mean = view.step_ms.mean if view.step_ms else None
    columns = max(1, min(4, width // 33))
    cell = width // columns
    entries: list[Line] = []
    for role, name, _, letter in PHASES:
        share = shares.get(role)
        took = None if share is None or mean is None else share * mean
        key = Run(f"{letter}=" if textured else "■ ", role if share is not None else "dim")
        figures = f"{fmt.percent(share):>6} {fmt.milliseconds(took) if took is not None else '':>8}"
        entries.append(line(key, Run(f"{name:<14}"[: max(7, cell - 19)], "dim"), Run(figures)))
    rows = -(-len(entries) // columns)
    return [
        tuple(
            run for entry in entries[row::rows] for run in (*entry, Run(" " * max(0, cell - width_of(entry))))
        )
        for row in range(rows)
    ]


def _heading(words: str, right: Line, width: int) -> Line:
    return spread(line(Run(words, "heading")), right, width)


def _history(sheet: RankSheet, room: Room) -> list[Line]:
    history, width, textured = sheet.history, room.width, room.textured
    height = max(6, min(14, room.height - 13))
    words = "step time"
    if history is not None:
        span = f"{history.first_step:,} to {history.last_step:,}"
        behind = history.newest_step - history.last_step
        words = f"step time  {span}" + (f", {behind:,} before the newest" if behind else "")
    elif sheet.why_no_history:
        return [_heading(words, BLANK, width), *wrap(sheet.why_no_history, width, "warning")]
    key = band_key(history, max(0, width - len(words) - 3), textured=textured)
    chart = band_chart(history, width - RIGHT, height, sheet.marks, textured=textured)
    return [_heading(words, key, width), *chart]


def _distribution(sheet: RankSheet, room: Room) -> list[Line]:
    history, width = sheet.history, room.width
    if history is None or history.stats is None:
        return []
    stats = history.stats
    words = line(
        Run("p50 ", "dim"), fmt.milliseconds(stats.p50),
        Run("  p99 ", "dim"), fmt.milliseconds(stats.p99),
        Run(f"  {history.above:,} slower than shown" if history.above else "", "warning"),
    )  # fmt: skip
    heading = _heading(f"distribution of these {history.stats_steps:,} steps", words, width)
    return [heading, *distribution(history, width, _DISTRIBUTION_ROWS + 1, room.style)]


def _gpu(sheet: RankSheet, room: Room) -> list[Line]:
    view, gpu, width = sheet.view, sheet.gpu, room.width
    allocator = view.facts.allocator if view.facts else None
    drawn: list[Line] = []
    if gpu is not None:
        over = counted(gpu.window_steps, "step") if gpu.window_steps else "the newest seconds"
        name = f"GPU  {fmt.clean(gpu.name or gpu.uuid)}"
        drawn = [BLANK, _heading(name, line(Run(f"mean of {over}", "dim")), width)]
        drawn += figure_grid(gpu_figures(gpu), gpu.missing, width)
    elif view.gpu_uuid is not None or view.device.startswith("cuda"):
        why = sheet.host.gpu_note if sheet.host else None
        said = clip(
            line(f"{fmt.NOTHING} ", Run(fmt.clean(why or "its readings have not come yet"), "dim")), width
        )
        drawn = [BLANK, _heading("GPU", BLANK, width), said]
    if gpu is not None or view.gpu_uuid is not None:
        drawn += lanes_of(sheet.history, "gpu", width, room.style)
    if view.device_ms is not None:
        drawn += [device_line(view.device_ms, width)]
    if allocator is not None:
        drawn += [BLANK, _heading("allocator", line(Run(fmt.clean(allocator.device), "dim")), width)]
        drawn += figure_grid(allocator_figures(allocator), {}, width)
    return drawn


def _workers(sheet: RankSheet, room: Room) -> list[Line]:
    width = room.width
    if sheet.view.workers is None:
        return [BLANK, _heading("loader workers", BLANK, width), line(Run("none seen", "dim"))]
    together = worker_line(sheet.view.workers, max(0, width - 18))
    return [
        BLANK,
        _heading("loader workers", together, width),
        *worker_rows(sheet.workers, width),
        *lanes_of(sheet.history, "workers", width, room.style),
        *worker_timeline(sheet.history, width, room.style),
    ]


def _host(sheet: RankSheet, room: Room) -> list[Line]:
    host, width = sheet.host, room.width
    if host is None:
        return []
    old = line(Run(f"{fmt.age(host.age_s)} old", "warning")) if host.age_s > 5 else BLANK
    heading = _heading(f"host  {fmt.clean(host.name)}", old, width)
    lanes = lanes_of(sheet.history, "host", width, room.style)
    return [BLANK, heading, *figure_grid(host_figures(host), host.missing, width), *lanes]


def _whole_run(sheet: RankSheet, room: Room) -> list[Line]:
    """Draw what its time went to since the launch, its newest losses, and what was lost on the way."""
    view, width, textured = sheet.view, room.width, room.textured
    drawn: list[Line] = []
    if view.phases_s:
        total = sum(view.phases_s.values()) or 1.0
        parts = [
            Part(role, word[0], word, word, view.phases_s[word] / total)
            for word, role in _RUN_PHASES
            if view.phases_s.get(word)
        ]
        words = bar_legend(parts, max(0, width - 24), textured=textured)
        drawn += [BLANK, _heading(f"since the launch  {fmt.duration(total)}", words, width)]
    if view.losses:
        values = "  ".join(f"{fmt.number(value)} at {step:,}" for step, value in reversed(view.losses))
        drawn += [BLANK, clip(line(Run("loss  ", "heading"), values), width)]
    missing = ((view.dropped, "step"), (view.lost_frames, "frame"), (view.probe_errors, "error"))
    steps, frames, errors = (counted(number, noun) for number, noun in missing)
    lost = f"{steps} dropped, {frames} lost, {errors}"
    role = "warning" if view.dropped or view.lost_frames or view.probe_errors else "dim"
    return [*drawn, BLANK, clip(line(Run("perftui  ", "heading"), Run(lost, role)), width)]


def _phases_over_time(sheet: RankSheet, room: Room) -> list[Line]:
    return lanes_of(sheet.history, "step", room.width, room.style)


Section = Callable[[RankSheet, Room], list[Line]]
SECTIONS: tuple[Section, ...] = (
    _steps,
    _history,
    _phases_over_time,
    _distribution,
    _gpu,
    _workers,
    _host,
    _whole_run,
)
"""Top to bottom. A new section is a function of this kind, in a file of its own, and a line here."""
