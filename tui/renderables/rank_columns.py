"""The columns of the table of ranks: what stands in a cell, how hot it is, and what it is sorted by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.heat import hot, longer, lost, worse
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.phase_words import phase_word
from perftui.tui.renderables.rank_card import PHASED, STATE_MARKS, RankPicture
from perftui.tui.renderables.sparkline import sparkline
from perftui.tui.renderables.worker_line import worker_cell

Medians = Mapping[str, float]
"""Over the ranks that train, by figure; as the hub tells them."""
SortKey = float | str | None
_GRAVITY = ("silent", "ended", "starting", "validating", "profiling", "training")
"""States, the one to look at first before the others."""


@dataclass(frozen=True)
class RankColumn:
    """One column."""

    heading: str
    width: int
    cell: Callable[[RankPicture, Medians], Line]
    key: Callable[[RankPicture], SortKey]
    """What it is sorted by; None goes last, whichever way."""
    right: bool = True
    falling: bool = True
    """Whether the first click sorts from high to low."""


def _dim(text: str) -> Line:
    return line(Run(fmt.clean(text), "dim"))


def _state(picture: RankPicture, _medians: Medians) -> Line:
    view = picture.view
    mark, role = STATE_MARKS[view.state]
    word = phase_word(view.phase, view.phase_for_s) if view.state in PHASED else None
    return line(Run(f"{mark} ", role), Run(word or view.state, "dim"))


def _now(picture: RankPicture, medians: Medians) -> Line:
    value = picture.view.now_ms
    return line(hot(fmt.in_ms(value), worse(value, medians.get("now_ms")), "value"))


def _stat(name: str) -> Callable[[RankPicture, Medians], Line]:
    def cell(picture: RankPicture, medians: Medians) -> Line:
        value = _of_steps(picture, name)
        if value is None:
            return line(Run(fmt.NOTHING, "dim"))
        return line(hot(fmt.in_ms(value), worse(value, medians.get(f"{name}_ms"))))

    return cell


def _of_steps(picture: RankPicture, name: str) -> float | None:
    stats = picture.view.step_ms
    return None if stats is None else (stats.p50 if name == "p50" else stats.p99)


def _wait(picture: RankPicture, _medians: Medians) -> Line:
    share = picture.view.shares.loader_wait
    return line(*gauge(share, 6, "loader_wait"), " ", hot(f"{fmt.percent(share):>5}", lost(share)))


def _part(name: str) -> Callable[[RankPicture, Medians], Line]:
    def cell(picture: RankPicture, medians: Medians) -> Line:
        share: float | None = getattr(picture.view.shares, name)
        if share is None:
            return line(Run(fmt.NOTHING, "dim"))
        return line(hot(fmt.percent(share), longer(share, medians.get(name))))

    return cell


def _share_of(name: str) -> Callable[[RankPicture], SortKey]:
    return lambda picture: getattr(picture.view.shares, name)


def _samples(picture: RankPicture, medians: Medians) -> Line:
    value = picture.view.samples_per_s
    return line(hot(fmt.number(value), worse(value, medians.get("samples_per_s"), low=True)))


def _tokens(picture: RankPicture, medians: Medians) -> Line:
    per_s = picture.view.tokens_per_s
    level = worse(per_s, medians.get("tokens_per_s"), low=True)
    return line(hot(fmt.count_in(_TOKENS, None if per_s is None else round(per_s)), level))


def _sm(picture: RankPicture) -> float | None:
    return picture.gpu.sm_active_share if picture.gpu else None


def _kernel(picture: RankPicture) -> float | None:
    return picture.gpu.utilisation_share if picture.gpu else None


def _used(picture: RankPicture) -> float | None:
    return picture.gpu.memory_used_mib if picture.gpu else None


def _memory(picture: RankPicture, _medians: Medians) -> Line:
    gpu = picture.gpu
    return line(fmt.used_of(gpu.memory_used_mib, gpu.memory_total_mib) if gpu else fmt.NOTHING)


def _marks(picture: RankPicture, _medians: Medians) -> Line:
    codes = picture.view.marks
    return line(Run(", ".join(fmt.clean(code) for code in codes), "critical"))


def _needs_a_look(picture: RankPicture) -> SortKey:
    """Return what puts silent ranks first, then those with findings, and leaves all others in their order."""
    silent = picture.view.state == "silent"
    return len(picture.view.marks) + 100 * silent or None


def _busy(picture: RankPicture) -> SortKey:
    return picture.view.workers.cpu_share if picture.view.workers else None


_STEPS, _TOKENS = 8, 9
"""Cells of columns of whole numbers, which are rounded where they have no room."""
COLUMNS = (
    RankColumn("rank", 5, lambda p, _: line(Run(str(p.view.rank), "value")), lambda p: p.view.rank,
               falling=False),
    RankColumn("step ms", 8, _now, lambda p: p.view.now_ms),
    RankColumn("wait", 12, _wait, _share_of("loader_wait"), right=False),
    RankColumn("state", 12, _state, lambda p: _GRAVITY.index(p.view.state), right=False, falling=False),
    RankColumn("p50", 6, _stat("p50"), lambda p: _of_steps(p, "p50")),
    RankColumn("p99", 6, _stat("p99"), lambda p: _of_steps(p, "p99")),
    RankColumn("finding", 22, _marks, _needs_a_look, right=False),
    RankColumn("fwd", 5, _part("forward"), _share_of("forward")),
    RankColumn("bwd", 5, _part("backward"), _share_of("backward")),
    RankColumn("comm", 5, _part("comm_exposed"), _share_of("comm_exposed")),
    RankColumn("samples/s", 10, _samples, lambda p: p.view.samples_per_s, falling=False),
    RankColumn("tokens/s", _TOKENS, _tokens, lambda p: p.view.tokens_per_s, falling=False),
    RankColumn("SM", 5, lambda p, _: line(fmt.percent(_sm(p))), _sm, falling=False),
    RankColumn("workers", 10, lambda p, _: worker_cell(p.view.workers), _busy),
    RankColumn("kernel", 7, lambda p, _: line(fmt.percent(_kernel(p))), _kernel, falling=False),
    RankColumn("steps", _STEPS, lambda p, _: line(fmt.count_in(_STEPS, p.view.steps)), lambda p: p.view.steps,
               falling=False),
    RankColumn("GPU memory", 13, _memory, _used),
    RankColumn("history", 16, lambda p, _: line(Run(sparkline(p.track.wall_ms, 16), "accent")),
               lambda p: p.view.now_ms, right=False),
    RankColumn("device", 7, lambda p, _: _dim(p.view.device), lambda p: p.view.device, right=False,
               falling=False),
    RankColumn("host", 10, lambda p, _: _dim(p.view.host), lambda p: p.view.host, right=False,
               falling=False),
)  # fmt: skip
"""The most needed first."""
_ORDER = (
    "rank", "host", "device", "state", "steps", "step ms", "p50", "p99", "history", "wait", "fwd", "bwd",
    "comm", "workers", "samples/s", "tokens/s", "SM", "kernel", "GPU memory", "finding",
)  # fmt: skip
_OPTIONAL = ("comm", "workers", "tokens/s", "SM", "kernel", "GPU memory")
MARGIN = 3
"""Cells before the first column: which rank is chosen, and which has a finding."""
GAP = 2


def absent_columns(pictures: Sequence[RankPicture]) -> frozenset[str]:
    """Return the columns of which no rank has anything: they give their room to others."""
    return frozenset(
        column.heading
        for column in COLUMNS
        if column.heading in _OPTIONAL and all(column.key(picture) is None for picture in pictures)
    )


def columns_for(width: int, absent: frozenset[str] = frozenset()) -> list[RankColumn]:
    """Return the columns that a width has room for, from left to right."""
    room = width - MARGIN
    chosen: list[RankColumn] = []
    for column in COLUMNS:
        if column.heading not in absent and column.width + GAP <= room:
            chosen.append(column)
            room -= column.width + GAP
    return sorted(chosen, key=lambda column: _ORDER.index(column.heading))


def column_at(width: int, x: int, absent: frozenset[str] = frozenset()) -> RankColumn | None:
    """Return the column in which a cell of the screen lies."""
    left = MARGIN
    for column in columns_for(width, absent):
        if left <= x < left + column.width + GAP:
            return column
        left += column.width + GAP
    return None
