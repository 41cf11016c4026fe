"""One profiling window: a sentence, and tables of operators, kernels and ranks, sorted by any column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from perftui.ipc.view import KernelRow, OperatorRow, ProfileRank, ProfileView
from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.lines import BLANK, Line, Run, fit, line, wrap

Part: TypeAlias = Literal["operators", "kernels", "ranks"]
PARTS: tuple[Part, ...] = ("operators", "kernels", "ranks")
_Row = TypeVar("_Row")
_NUMBER = 11
_BAR = 8


@dataclass(frozen=True)
class Column(Generic[_Row]):
    """One column: what it shows, and what it sorts by."""

    key: str
    """The letter that sorts by it."""
    heading: str
    text: Callable[[_Row], str]
    order: Callable[[_Row], float | str]


@dataclass(frozen=True)
class Table:
    """A table ready to be drawn."""

    heading: Line
    rows: Sequence[Line]
    empty: str


def _largest(value: float | None) -> float:
    return -(value or 0.0)


OPERATORS: tuple[Column[OperatorRow], ...] = (
    Column("n", "operator", lambda row: row.name, lambda row: row.name.lower()),
    Column("c", "calls", lambda row: fmt.count(row.count), lambda row: -row.count),
    Column("u", "self CPU", lambda row: fmt.microseconds(row.self_cpu_us), lambda row: -row.self_cpu_us),
    Column("t", "CPU total", lambda row: fmt.microseconds(row.cpu_us), lambda row: -row.cpu_us),
    Column(
        "d",
        "self GPU",
        lambda row: fmt.microseconds(row.self_device_us),
        lambda row: _largest(row.self_device_us),
    ),
    Column("e", "share", lambda row: fmt.percent(row.share), lambda row: -row.share),
)
KERNELS: tuple[Column[KernelRow], ...] = (
    Column("n", "kernel", lambda row: row.name, lambda row: row.name.lower()),
    Column("c", "calls", lambda row: fmt.count(row.count), lambda row: -row.count),
    Column("t", "total", lambda row: fmt.microseconds(row.total_us), lambda row: -row.total_us),
    Column("e", "share", lambda row: fmt.percent(row.share), lambda row: -row.share),
)
RANKS: tuple[Column[ProfileRank], ...] = (
    Column("n", "rank", lambda row: f"rank {row.rank}  {_state(row)}", lambda row: float(row.rank)),
    Column("t", "window", lambda row: fmt.milliseconds(row.window_ms), lambda row: _largest(row.window_ms)),
    Column(
        "b",
        "before",
        lambda row: fmt.milliseconds(row.step_ms_before),
        lambda row: _largest(row.step_ms_before),
    ),
    Column(
        "a", "after", lambda row: fmt.milliseconds(row.step_ms_after), lambda row: _largest(row.step_ms_after)
    ),
    Column("x", "stall", lambda row: fmt.milliseconds(row.stall_ms), lambda row: _largest(row.stall_ms)),
    Column("e", "loader", lambda row: fmt.percent(row.loader_share), lambda row: _largest(row.loader_share)),
    Column(
        "d",
        "GPU busy",
        lambda row: fmt.percent(row.device_busy_share),
        lambda row: _largest(row.device_busy_share),
    ),
)


def _state(row: ProfileRank) -> str:
    return f"{row.state}: {row.reason}" if row.reason else row.state


def sort_keys(part: Part) -> str:
    """Return the letters that sort a table."""
    return {"operators": _letters(OPERATORS), "kernels": _letters(KERNELS), "ranks": _letters(RANKS)}[part]


def _letters(columns: Sequence[Column[_Row]]) -> str:
    return "".join(column.key for column in columns)


def profile_table(view: ProfileView, rank: int | None, part: Part, sort: str, width: int) -> Table:
    """Return one table of a window, of one rank (None: the first) where that matters."""
    mine = chosen_rank(view, rank)
    waiting = view.state not in ("done", "failed")
    if part == "ranks":
        return _table(RANKS, view.ranks, lambda _: None, sort, width, "no rank has answered yet")
    reason = mine.reason if mine is not None and mine.reason else f"no {part} in this window"
    empty = "recording …" if waiting else fmt.clean(reason)
    if part == "kernels":
        return _table(KERNELS, mine.kernels if mine else [], lambda row: row.share, sort, width, empty)
    rows = mine.operators if mine else []
    columns = OPERATORS if any(row.device_us for row in rows) else OPERATORS[:4] + OPERATORS[5:]
    return _table(columns, rows, lambda row: row.share, sort, width, empty)


def chosen_rank(view: ProfileView, rank: int | None) -> ProfileRank | None:
    """Return what the rank contributed, or the first one."""
    named = [row for row in view.ranks if row.rank == rank]
    first = view.ranks[0] if view.ranks else None
    return named[0] if named else first


def _table(
    columns: Sequence[Column[_Row]],
    rows: Sequence[_Row],
    share: Callable[[_Row], float | None],
    sort: str,
    width: int,
    empty: str,
) -> Table:
    by = next((column for column in columns if column.key == sort), columns[-1])
    bar = _BAR if width >= 96 else 0
    name_width = max(16, width - (len(columns) - 1) * _NUMBER - bar - 1)
    heading = [_heading(columns[0], by, name_width, right=False)]
    heading += [_heading(column, by, _NUMBER, right=True) for column in columns[1:]]
    drawn = [
        (*_cells(columns, row, name_width), Run(" "), *_share_bar(share(row), bar))
        for row in sorted(rows, key=by.order)
    ]
    return Table(tuple(run for cell in heading for run in cell), drawn, empty)


def _cells(columns: Sequence[Column[_Row]], row: _Row, name_width: int) -> Line:
    name = fit(line(fmt.clean(columns[0].text(row))), name_width)
    texts = [column.text(row) for column in columns[1:]]
    return (*name, *(Run(f"{text:>{_NUMBER}}", _role(text)) for text in texts))


def _share_bar(share: float | None, width: int) -> Line:
    return gauge(share, width) if share is not None else BLANK


def _role(text: str) -> str:
    return "dim" if text == fmt.NOTHING else "text"


def _heading(column: Column[_Row], by: Column[_Row], width: int, *, right: bool) -> Line:
    mark = "▼" if column is by else ""
    words = f"{column.heading}{mark}"
    text = f"{words:>{width}}" if right else f"{words:<{width}}"
    return line(Run(text[:width], "title" if mark else "heading"))


def window_lines(view: ProfileView | None, width: int) -> list[Line]:
    """Draw what the window says, and how it was taken."""
    if view is None:
        return [
            line(Run(" ○ no profiling window yet", "note")),
            line(Run("   p opens one: 3 steps of the live run, on all ranks", "dim")),
        ]
    steps = f"steps {view.start_step:,} to {view.start_step + view.steps - 1:,}"
    if view.start_step < 0:  # as soon as the ranks can: not known before they have begun
        steps = f"the next {view.steps} steps"
    ranks = "1 rank" if len(view.ranks) == 1 else f"{len(view.ranks)} ranks"
    about = line(Run(f"   window {fmt.clean(view.window_id)} · {steps} · {ranks}", "dim"))
    if view.state == "failed":
        return [line(Run(f" ✖ {fmt.clean(view.sentence or 'the window failed')}", "critical")), about]
    if view.state != "done":
        words = {
            "armed": f" ○ waiting for step {view.start_step:,}"
            if view.start_step >= 0
            else " ○ waiting for the next step",
            "recording": " ● recording",
            "analysing": " ● reading the traces",
        }
        return [line(Run(words[view.state], "note")), about]
    sentence = wrap(fmt.clean(view.sentence or "window done"), max(10, width - 2), "value")[:2]
    return [
        (Run("◆ ", "fine"), *sentence[0]),
        *(((Run("  "), *sentence[1]),) if len(sentence) > 1 else ()),
        about,
    ]


def cost_line(view: ProfileView, rank: int | None, *, wide: bool) -> Line:
    """Name the rank and, where there is room, say what the window cost its training."""
    mine = chosen_rank(view, rank)
    if mine is None:
        return BLANK
    if not wide:
        return line(Run(f"rank {mine.rank}", "title"))
    figures = (
        ("stall", mine.stall_ms, fmt.milliseconds),
        ("step before", mine.step_ms_before, fmt.milliseconds),
        ("after", mine.step_ms_after, fmt.milliseconds),
        ("loader", mine.loader_share, fmt.percent),
        ("GPU busy", mine.device_busy_share, fmt.percent),
    )
    runs = [
        run
        for name, value, write in figures
        if value is not None
        for run in (Run(f"  {name} ", "dim"), Run(write(value)))
    ]
    return line(Run(f"rank {mine.rank}", "title"), *runs)
