"""All about one rank, as sections of a page: where its steps go, their history, its GPU, host and workers."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.step_history import StepHistory
from perftui.ipc.view import GpuView, HostView, Mark, ProfileView, RankView, WorkerView
from perftui.tui import format as fmt
from perftui.tui.renderables.band_chart import band_chart, band_key
from perftui.tui.renderables.chart_parts import ChartMark
from perftui.tui.renderables.device_line import device_line
from perftui.tui.renderables.distribution import distribution
from perftui.tui.renderables.figure_grid import figure_grid
from perftui.tui.renderables.gpu_figures import allocator_figures, gpu_figures
from perftui.tui.renderables.host_figures import host_figures, worker_rows
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, join_fitting, line, spread, width_of, wrap
from perftui.tui.renderables.phase_bar import PHASES, measured, phase_bar
from perftui.tui.renderables.rank_card import STATE_MARKS
from perftui.tui.renderables.stacked_bar import Part, bar_legend
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


def chart_marks(
    marks: Sequence[Mark], profiles: Sequence[ProfileView], rank: int, parent: str | None
) -> list[ChartMark]:
    """Return what happened to a rank, by step: events, windows, and the relaunch that it began with."""
    found = [
        ChartMark(mark.step, fmt.clean(mark.event))
        for mark in marks
        if mark.step >= 0 and mark.rank in (None, rank)
    ]
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


def rank_sheet(sheet: RankSheet, width: int, height: int, *, textured: bool = False) -> list[Line]:
    """Draw all sections below each other; what is asked most stands in the first `height` lines."""
    return [
        *_steps(sheet.view, width, textured=textured),
        *_history(sheet, width, max(6, min(16, height - 13)), textured=textured),
        *_distribution(sheet, width),
        *_gpu(sheet, width),
        *_workers(sheet, width),
        *_host(sheet, width),
        *_whole_run(sheet.view, width, textured=textured),
    ]


def _steps(view: RankView, width: int, *, textured: bool) -> list[Line]:
    """Draw how fast it steps, and every phase with its time and its share."""
    stats = view.step_ms
    rates = [
        line(fmt.number(view.samples_per_s), Run(" samples/s", "dim")) if view.samples_per_s else BLANK,
        line(fmt.count(round(view.tokens_per_s)), Run(" tokens/s", "dim")) if view.tokens_per_s else BLANK,
        line(fmt.number(view.steps_per_s), Run(" steps/s", "dim")),
    ]
    left = line(
        Run("step ", "dim"),
        Run(fmt.milliseconds(view.now_ms), "value"),
        *(
            run
            for name in ("mean", "p50", "p90", "p99")
            for run in (Run(f"  {name} ", "dim"), Run(fmt.number(getattr(stats, name) if stats else None)))
        ),
        Run(f"  of {view.window_steps:,} steps" if width >= 90 else "", "dim"),
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


def _history(sheet: RankSheet, width: int, height: int, *, textured: bool) -> list[Line]:
    history = sheet.history
    words = "step time"
    if history is not None:
        span = f"{history.first_step:,} to {history.last_step:,}"
        behind = history.newest_step - history.last_step
        words = f"step time  {span}" + (f", {behind:,} before the newest" if behind else "")
    elif sheet.why_no_history:
        return [_heading(words, BLANK, width), *wrap(sheet.why_no_history, width, "warning")]
    key = band_key(history, max(0, width - len(words) - 3), textured=textured)
    chart = band_chart(history, width, height, sheet.marks, textured=textured)
    return [_heading(words, key, width), *chart]


def _distribution(sheet: RankSheet, width: int) -> list[Line]:
    history = sheet.history
    if history is None or history.stats is None:
        return []
    stats = history.stats
    words = line(
        Run("p50 ", "dim"), fmt.milliseconds(stats.p50),
        Run("  p99 ", "dim"), fmt.milliseconds(stats.p99),
        Run(f"  {history.above:,} slower than shown" if history.above else "", "warning"),
    )  # fmt: skip
    heading = _heading(f"distribution of these {history.stats_steps:,} steps", words, width)
    return [heading, *distribution(history, width, _DISTRIBUTION_ROWS + 1)]


def _gpu(sheet: RankSheet, width: int) -> list[Line]:
    view, gpu = sheet.view, sheet.gpu
    allocator = view.facts.allocator if view.facts else None
    drawn: list[Line] = []
    if gpu is not None:
        over = f"mean of {gpu.window_steps:,} steps" if gpu.window_steps else "mean of the newest seconds"
        name = f"GPU  {fmt.clean(gpu.name or gpu.uuid)}"
        drawn = [BLANK, _heading(name, line(Run(over, "dim")), width)]
        drawn += figure_grid(gpu_figures(gpu), gpu.missing, width)
    elif view.gpu_uuid is not None or view.device.startswith("cuda"):
        why = sheet.host.gpu_note if sheet.host else None
        said = clip(
            line(f"{fmt.NOTHING} ", Run(fmt.clean(why or "its readings have not come yet"), "dim")), width
        )
        drawn = [BLANK, _heading("GPU", BLANK, width), said]
    if view.device_ms is not None:
        drawn += [device_line(view.device_ms, width)]
    if allocator is not None:
        drawn += [BLANK, _heading("allocator", line(Run(fmt.clean(allocator.device), "dim")), width)]
        drawn += figure_grid(allocator_figures(allocator), {}, width)
    return drawn


def _workers(sheet: RankSheet, width: int) -> list[Line]:
    if sheet.view.workers is None:
        return [BLANK, _heading("loader workers", BLANK, width), line(Run("none seen", "dim"))]
    together = worker_line(sheet.view.workers, max(0, width - 18))
    return [BLANK, _heading("loader workers", together, width), *worker_rows(sheet.workers, width)]


def _host(sheet: RankSheet, width: int) -> list[Line]:
    host = sheet.host
    if host is None:
        return []
    old = line(Run(f"{fmt.age(host.age_s)} old", "warning")) if host.age_s > 5 else BLANK
    heading = _heading(f"host  {fmt.clean(host.name)}", old, width)
    return [BLANK, heading, *figure_grid(host_figures(host), host.missing, width)]


def _whole_run(view: RankView, width: int, *, textured: bool) -> list[Line]:
    """Draw what its time went to since the launch, its newest losses, and what was lost on the way."""
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
    lost = f"{view.dropped:,} steps dropped, {view.lost_frames:,} frames lost, {view.probe_errors:,} errors"
    role = "warning" if view.dropped or view.lost_frames or view.probe_errors else "dim"
    return [*drawn, BLANK, clip(line(Run("perftui  ", "heading"), Run(lost, role)), width)]
