"""A table of any rows: its columns, the order and the choice of rows, and the lines it is drawn with.

Only rows in view are ever formatted, so the number of rows costs nothing but their sorting.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, fit, line, plain, width_of
from perftui.tui.renderables.trace_names import short_name

_Row = TypeVar("_Row")
Order: TypeAlias = float | str | None
_FLEX_MIN = 24
_FLEX_SHARE = 0.3
"""Of the width, for names: what they are is told before further figures."""
_BAR, _BAR_FROM = 9, 96
_GAP = 2


@dataclass(frozen=True)
class Column(Generic[_Row]):
    """One column: what it shows, and what it sorts by."""

    heading: str
    text: Callable[[_Row], str]
    order: Callable[[_Row], Order]
    """None goes last, whichever way it is sorted."""
    width: int = 11
    """In cells; 0: shares what room is left with others of its kind."""
    left: bool = False
    """A text, which stands at the left; those that share what room is left always do."""
    sentence: bool = False
    """Cut at its end; names are cut in their middle."""
    spare: int = 0
    """Where room is scarce, columns go from the highest number on; 0 stays."""
    role: Callable[[_Row], str] | None = None


def _no_details(_row: object, _width: int) -> Sequence[Line]:
    return ()


@dataclass(frozen=True)
class Table(Generic[_Row]):
    """Rows with their columns, as one tab shows them."""

    columns: Sequence[Column[_Row]]
    rows: Sequence[_Row]
    sort: int
    """The column it is sorted by at first; -1: the rows stay in their order."""
    empty: str
    """What to say when there are no rows."""
    search: Callable[[_Row], str]
    """The text that a filter looks in."""
    record: Callable[[_Row], Mapping[str, object]]
    """What is exported of a row, as numbers in the units of the names."""
    share: Callable[[_Row], float | None] | None = None
    details: Callable[[_Row, int], Sequence[Line]] = _no_details
    """The lines of an expanded row, for a width."""
    notes: Sequence[str] = ()
    """What to beware of before reading any row."""
    at_us: Callable[[_Row], float | None] | None = None
    """Where a row lies on the timeline."""
    descending: bool | None = None
    """Which way it is sorted at first; None: the way that suits the column."""


AnyTable: TypeAlias = Table[Any]


def largest_first(table: AnyTable, column: int) -> bool:
    """Return which way a column is sorted at first: names from a, numbers from the largest."""
    if column < 0 or (column == table.sort and table.descending is not None):
        return bool(table.descending)
    return table.columns[column].width > 0 and not isinstance(_first_order(table, column), str)


def _first_order(table: AnyTable, column: int) -> Order:
    orders = (table.columns[column].order(row) for row in table.rows)
    return next((order for order in orders if order is not None), None)


def arranged(table: AnyTable, column: int, *, descending: bool, among: Sequence[int]) -> list[int]:
    """Return the rows of these positions in order; equals stay in theirs, unknown values go last."""
    if column < 0:
        return list(among)
    order = table.columns[column].order
    keys = {at: order(table.rows[at]) for at in among}
    known = [at for at in among if keys[at] is not None]
    known.sort(key=keys.__getitem__, reverse=descending)  # type: ignore[arg-type]
    return known + [at for at in among if keys[at] is None] if len(known) < len(among) else known


def searched(table: AnyTable) -> list[str]:
    """Return the text of every row that a filter looks in, in lower case."""
    return [fmt.visible(table.search(row)).lower() for row in table.rows]


def matching(texts: Sequence[str], needle: str) -> Sequence[int]:
    """Return the positions of the texts that have every word of `needle`."""
    words = needle.lower().split()
    if not words:
        return range(len(texts))
    return [at for at, text in enumerate(texts) if all(word in text for word in words)]


@dataclass(frozen=True)
class Layout:
    """Which columns are shown, and how wide."""

    columns: Sequence[tuple[int, int]]
    """Position and width in cells, gaps beside texts included."""
    bar: int


def layout(table: AnyTable, width: int, sort: int) -> Layout:
    """Share out `width` cells; the column that is sorted by stays."""
    bar = _BAR if table.share is not None and width >= _BAR_FROM else 0
    shown = list(range(len(table.columns)))
    flexible = [at for at in shown if table.columns[at].width == 0]
    while True:
        fixed = sum(table.columns[at].width for at in shown)
        room = width - bar - fixed
        spare = [at for at in shown if table.columns[at].spare and at != sort]
        if room >= max(_FLEX_MIN * len(flexible), _FLEX_SHARE * width) or not spare:
            break
        gone = max(spare, key=lambda at: table.columns[at].spare)
        shown.remove(gone)
        flexible = [at for at in flexible if at != gone]
    each, rest = divmod(max(0, room), max(1, len(flexible)))
    widths = {at: each + (index < rest) for index, at in enumerate(flexible)}
    return Layout([(at, widths.get(at, table.columns[at].width)) for at in shown], bar)


def heading_line(table: AnyTable, plan: Layout, sort: int, *, descending: bool) -> Line:
    """Draw the headings; an arrow marks what the rows are sorted by."""
    runs: list[Run] = []
    for (at, width), gap in zip(plan.columns, _gaps(table, plan), strict=True):
        column = table.columns[at]
        mark = ("↓" if descending else "↑") if at == sort else ""
        words = f"{column.heading}{mark}"
        text = f"{gap}{words:<{width}}" if _is_left(column) else f"{words:>{width}}"
        runs.append(Run(text[:width], "title" if mark else "heading"))
    return tuple(runs)


def row_line(table: AnyTable, plan: Layout, position: int) -> Line:
    """Draw one row."""
    row = table.rows[position]
    runs: list[Run] = []
    for (at, width), gap in zip(plan.columns, _gaps(table, plan), strict=True):
        column = table.columns[at]
        text = column.text(row)
        role = column.role(row) if column.role else "dim" if text == fmt.NOTHING else "text"
        if _is_left(column):
            room = max(1, width - len(gap) - _GAP)
            name = plain(clip(line(fmt.visible(text)), room)) if column.sentence else short_name(text, room)
            runs += fit(line(Run(gap), Run(name, role)), width)
        else:
            runs += fit(line(Run(f"{fmt.visible(text):>{width}}", role)), width)
    if plan.bar and table.share is not None:
        share = table.share(row)
        runs += (Run(" "), *(gauge(share, plan.bar - 1) if share is not None else BLANK))
    return tuple(runs)


def _is_left(column: Column[Any]) -> bool:
    return column.left or column.width == 0


def _gaps(table: AnyTable, plan: Layout) -> list[str]:
    """Return what keeps each text apart from a number at its left."""
    lefts = [_is_left(table.columns[at]) for at, _ in plan.columns]
    return [
        " " * _GAP if here and not before else "" for before, here in zip([True, *lefts], lefts, strict=False)
    ]


def column_at(plan: Layout, x: int) -> int | None:
    """Return the column under a cell of the heading."""
    left = 0
    for at, width in plan.columns:
        if left <= x < left + width:
            return at
        left += width
    return None


def under_cursor(row: Line, width: int) -> Line:
    """Draw a row as the one with the cursor."""
    fitted = fit(row, width)
    text = plain(fitted)
    return line(Run(text + " " * (width - width_of(fitted)), "cursor"))
