"""Many ranks: one line each, under a heading. Columns go, from the least needed, where room is scarce."""

from collections.abc import Callable
from dataclasses import dataclass

from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.lines import Line, Run, fit, line, plain
from perftui.tui.renderables.phase_words import phase_word
from perftui.tui.renderables.rank_card import PHASED, STATE_MARKS, RankPicture
from perftui.tui.renderables.sparkline import sparkline
from perftui.tui.renderables.worker_line import worker_cell


@dataclass(frozen=True)
class _Column:
    heading: str
    width: int
    cell: Callable[[RankPicture], Line]
    right: bool = True


def _state(picture: RankPicture) -> Line:
    view = picture.view
    mark, role = STATE_MARKS[view.state]
    word = phase_word(view.phase, view.phase_for_s) if view.state in PHASED else None
    return line(Run(f"{mark} ", role), Run(word or view.state, "dim"))


def _wait(picture: RankPicture) -> Line:
    share = picture.view.shares.loader_wait
    return line(*gauge(share, 6, "loader_wait"), f" {fmt.percent(share):>5}")


def _stat(picture: RankPicture, name: str) -> Line:
    stats = picture.view.step_ms
    if stats is None:
        return line(Run(fmt.NOTHING, "dim"))
    return line(fmt.number(stats.p50 if name == "p50" else stats.p99))


def _tokens(picture: RankPicture) -> Line:
    per_s = picture.view.tokens_per_s
    return line(fmt.count(None if per_s is None else round(per_s)))


def _sm(picture: RankPicture) -> Line:
    return line(fmt.percent(picture.gpu.sm_active_share if picture.gpu else None))


def _kernel(picture: RankPicture) -> Line:
    return line(fmt.percent(picture.gpu.utilisation_share if picture.gpu else None))


def _memory(picture: RankPicture) -> Line:
    gpu = picture.gpu
    return line(fmt.used_of(gpu.memory_used_mib, gpu.memory_total_mib) if gpu else fmt.NOTHING)


def _marks(picture: RankPicture) -> Line:
    codes = picture.view.marks
    return line(Run(", ".join(fmt.clean(code) for code in codes), "critical"))


_COLUMNS = (
    _Column("rank", 5, lambda picture: line(Run(str(picture.view.rank), "value"))),
    _Column("step ms", 8, lambda picture: line(Run(fmt.number(picture.view.now_ms), "value"))),
    _Column("wait", 12, _wait, right=False),
    _Column("state", 12, _state, right=False),
    _Column("p50", 6, lambda picture: _stat(picture, "p50")),
    _Column("p99", 6, lambda picture: _stat(picture, "p99")),
    _Column("finding", 22, _marks, right=False),
    _Column("samples/s", 9, lambda picture: line(fmt.number(picture.view.samples_per_s))),
    _Column("tokens/s", 9, _tokens),
    _Column("SM", 5, _sm),
    _Column("workers", 10, lambda picture: worker_cell(picture.view.workers)),
    _Column("kernel", 6, _kernel),
    _Column("steps", 8, lambda picture: line(fmt.count(picture.view.steps))),
    _Column("GPU memory", 12, _memory),
    _Column("history", 16, lambda p: line(Run(sparkline(p.track.wall_ms, 16), "accent")), right=False),
    _Column("device", 7, lambda picture: line(Run(fmt.clean(picture.view.device), "dim")), right=False),
    _Column("host", 10, lambda picture: line(Run(fmt.clean(picture.view.host), "dim")), right=False),
)
"""The most needed first."""
_ORDER = (
    "rank", "host", "device", "state", "steps", "step ms", "p50", "p99", "history", "wait",
    "workers", "samples/s", "tokens/s", "SM", "kernel", "GPU memory", "finding",
)  # fmt: skip


def _chosen(width: int) -> list[_Column]:
    room = width - 3
    chosen: list[_Column] = []
    for column in _COLUMNS:
        if column.width + 2 <= room:
            chosen.append(column)
            room -= column.width + 2
    return sorted(chosen, key=lambda column: _ORDER.index(column.heading))


def _aligned(cell: Line, column: _Column) -> Line:
    missing = column.width - len(plain(cell))
    if column.right and missing > 0:
        return (Run(" " * missing), *cell)
    return fit(cell, column.width)


def rank_heading(width: int) -> Line:
    """Draw the heading."""
    cells = [_aligned(line(Run(column.heading, "heading")), column) for column in _chosen(width)]
    return _row(line(Run("   ")), cells, width)


def rank_row(picture: RankPicture, width: int, *, selected: bool = False) -> Line:
    """Draw one rank."""
    cells = [_aligned(column.cell(picture), column) for column in _chosen(width)]
    head = line(
        Run("▶" if selected else " ", "accent"), Run("▲" if picture.view.marks else " ", "critical"), Run(" ")
    )
    return _row(head, cells, width)


def _row(head: Line, cells: list[Line], width: int) -> Line:
    runs: list[Run] = [*head]
    for cell in cells:
        runs += [*cell, Run("  ")]
    return fit(tuple(runs), width)
