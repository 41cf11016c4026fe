"""One rank in a box: how fast it steps, where its step goes, what its GPU does."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.view import GpuView, RankView
from perftui.tui import format as fmt
from perftui.tui.renderables.device_line import device_line
from perftui.tui.renderables.gpu_lines import gpu_lines, gpu_word
from perftui.tui.renderables.lines import BLANK, Line, Run, frame, join, join_fitting, line, spread
from perftui.tui.renderables.phase_bar import legend, phase_bar
from perftui.tui.renderables.phase_words import phase_words, time_words
from perftui.tui.renderables.sparkline import sparkline
from perftui.tui.renderables.worker_line import worker_line
from perftui.tui.state import Track

GAP = line("  ")
STATE_MARKS = {
    "starting": ("○", "note"),
    "training": ("●", "fine"),
    "validating": ("●", "note"),
    "profiling": ("◆", "note"),
    "silent": ("!", "warning"),
    "ended": ("■", "dim"),
}

PHASED = ("training", "validating")
"""States in which the phase says more."""


@dataclass(frozen=True)
class RankPicture:
    """All that is shown of one rank."""

    view: RankView
    track: Track
    gpu: GpuView | None = None


def rank_card(
    picture: RankPicture, width: int, height: int, *, selected: bool = False, textured: bool = False
) -> list[Line]:
    """Draw the card.

    Five lines show the essentials, six add the history (or the GPU's work in its place), more of them what
    else is known: what takes time beside the steps, the GPU's work, the workers, the GPU's state, device
    times, whichever of these there are.
    """
    view, inner = picture.view, width - 4
    speed = _speed(view, inner)
    history = line(Run(sparkline(picture.track.wall_ms, inner), "accent"))
    bar = phase_bar(view.shares, inner, textured=textured)
    key = legend(view.shares, inner, textured=textured)
    gpu, state = gpu_lines(picture.gpu, inner) if picture.gpu else (BLANK, BLANK)
    body = {3: [speed, bar, key], 4: [speed, gpu or history, bar, key]}.get(
        height - 2, [speed, history, bar, key, *_extras(view, gpu, state, inner, height - 6)]
    )
    role = "frame-selected" if selected else "frame"
    if view.marks and not selected:
        role = "warning"
    shown = picture.gpu if gpu not in body else None
    return frame(body, width, height, _title(view, selected=selected), _status(view, shown), role)


def _extras(view: RankView, gpu: Line, state: Line, width: int, room: int) -> list[Line]:
    """Return the most needed lines that there is room for, in the order in which they are read."""
    device = device_line(view.device_ms, width) if view.device_ms else BLANK
    workers = worker_line(view.workers, width) if view.workers else BLANK
    times = time_words(view.phases_s, width)
    needed = [part for part in (times, gpu, workers, state, device) if part][: max(0, room)]
    return [part for part in (times, device, workers, gpu, state) if part in needed]


def _title(view: RankView, *, selected: bool) -> Line:
    name = Run(f"{'▶ ' if selected else ''}rank {view.rank}", "title")
    place = Run(f" {fmt.clean(view.device)}", "dim")
    suspects = Run(
        f"  ▲ {', '.join(fmt.clean(code) for code in view.marks)}" if view.marks else "", "critical"
    )
    return line(name, place, suspects)


def _status(view: RankView, gpu: GpuView | None) -> Line:
    mark, role = STATE_MARKS[view.state]
    state: str = view.state
    if view.state == "silent":
        state = f"silent {fmt.age(view.age_s)}"
    elif view.state in PHASED:
        state = phase_words(view.phase, view.phase_for_s) or state
    lost = f"  {view.dropped:,} dropped" if view.dropped else ""
    work = (*gpu_word(gpu), Run("  ")) if gpu is not None else BLANK
    return (*work, *line(Run(f"{mark} ", role), Run(state, "dim"), Run(lost, "warning")))


def step_times(view: RankView, names: Sequence[str]) -> list[Line]:
    """Return the newest step and figures of `StepStats`, all in one unit, which the step names."""
    stats = view.step_ms
    told: list[float | None] = [getattr(stats, name) if stats else None for name in names]
    unit = fmt.time_unit([view.now_ms, *told])
    named = f" {unit.name}" if any(value is not None for value in (view.now_ms, *told)) else ""
    return [
        line(Run("step ", "dim"), Run(f"{unit.number(view.now_ms)}{named}", "value")),
        *(line(Run(f"{name} ", "dim"), unit.number(value)) for name, value in zip(names, told, strict=True)),
    ]


def _speed(view: RankView, width: int) -> Line:
    parts = step_times(view, ("p50", "p99"))
    tokens = (
        line(fmt.count(round(view.tokens_per_s)), Run(" tokens/s", "dim")) if view.tokens_per_s else BLANK
    )
    rates = [
        tokens,
        line(fmt.number(view.samples_per_s), Run(" samples/s", "dim")),
        line(fmt.number(view.steps_per_s), Run(" steps/s", "dim")),
    ]
    left = join(parts, GAP)
    right = join_fitting(rates, GAP, width - sum(len(run.text) for run in left) - 3)
    return spread(left, right, width)
