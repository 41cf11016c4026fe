"""A table with a cursor: sorted by any column, filtered, rows expanded. Draws only the rows in view."""

from collections.abc import Sequence

from textual import events

from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import TRACE_TABLE
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, frame, line, width_of, wrap
from perftui.tui.renderables.trace_table import (
    AnyTable,
    Layout,
    arranged,
    column_at,
    heading_line,
    largest_first,
    layout,
    matching,
    row_line,
    searched,
    under_cursor,
)
from perftui.tui.renderables.trace_tabs import ALL_TABS, tab_line
from perftui.tui.widgets.picture import FramedPicture

_NOTES_MAX = 4
_EDGE = 2
"""Cells of the frame at the left."""


class TraceTable(FramedPicture):
    """One table at a time. The cursor stands on rows and on the lines of expanded rows alike."""

    BINDINGS = TRACE_TABLE

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self._tab = 0
        self.tabs: Sequence[int] = ALL_TABS
        """Those that this window has."""
        self._table: AnyTable | None = None
        self._about: Line = BLANK
        self._texts: list[str] | None = None
        self._sorted: list[int] = []
        """All rows: a filter leaves out some of them, and need not sort again."""
        self._order: list[int] = []
        self._expanded: list[tuple[int, Sequence[Line]]] = []
        """Place in the order, and the lines below it; by place."""
        self.needle = ""
        self.sort, self.descending = -1, True
        self._chosen = False
        """A person has sorted this tab."""
        self.item = self._top = 0

    def show(self, tab: int, table: AnyTable, about: Line) -> None:
        """Show a table; sorting, filter and cursor stay while the tab does."""
        other = tab != self._tab or self._table is None
        if other:
            self.needle, self._chosen = "", False
        if not self._chosen or self.sort >= len(table.columns):
            self.sort, self.descending = table.sort, largest_first(table, table.sort)
        item, top = (0, 0) if other else (self.item, self._top)
        self._tab, self._table, self._about, self._texts = tab, table, about, None
        self._sort()
        self.item, self._top = item, top
        self.redraw()

    @property
    def table(self) -> AnyTable | None:
        """The table in view."""
        return self._table

    @property
    def order(self) -> Sequence[int]:
        """The rows in view and out of it, as they are sorted and filtered."""
        return self._order

    def filter(self, needle: str) -> None:
        """Leave only rows that have every word of `needle`."""
        self.needle = needle
        self._choose()
        self.redraw()

    def _sort(self) -> None:
        table = self._table
        if table is not None:
            among = range(len(table.rows))
            self._sorted = arranged(table, self.sort, descending=self.descending, among=among)
        self._choose()

    def _choose(self) -> None:
        """Leave the rows that the filter wants."""
        self._expanded, self.item, self._top = [], 0, 0
        self._order = self._sorted
        if self.needle.strip() and self._table is not None:
            self._texts = self._texts if self._texts is not None else searched(self._table)
            wanted = set(matching(self._texts, self.needle))
            self._order = [at for at in self._sorted if at in wanted]

    def _items(self) -> int:
        return len(self._order) + sum(len(lines) for _, lines in self._expanded)

    def _found(self, item: int) -> tuple[int, int]:
        """Return the place in the order of a line, and which line of its details it is (-1: the row)."""
        for place, lines in self._expanded:
            if item <= place:
                break
            if item <= place + len(lines):
                return place, item - place - 1
            item -= len(lines)
        return item, -1

    def _item_of(self, place: int) -> int:
        return place + sum(len(lines) for at, lines in self._expanded if at < place)

    def row_at_cursor(self) -> object | None:
        """Return the row at the cursor."""
        if self._table is None or not self._order:
            return None
        row: object = self._table.rows[self._order[self._found(self.item)[0]]]
        return row

    def draw(self) -> Sequence[Line]:
        """Draw heading and rows in a frame whose title names the tabs."""
        width, height = self.size
        right = self._right()
        title = tab_line(self._tab, width - width_of(right) - 10, self.tabs)
        role = self.frame_role
        table = self._table
        if table is None:
            return frame([], width, height, title, right, role)
        inner, room = max(1, width - 2 * _EDGE), self._room()
        plan = self._layout(table)
        heading = heading_line(table, plan, self.sort, descending=self.descending)
        notes = [clip(line(Run(f"▲ {fmt.visible(note)}", "warning")), inner) for note in self._notes()]
        return frame(
            [*notes, heading, *self._rows(table, plan, inner, room)], width, height, title, right, role
        )

    def _layout(self, table: AnyTable) -> Layout:
        return layout(table, max(1, self.size.width - 2 * _EDGE), self.sort)

    def _rows(self, table: AnyTable, plan: Layout, width: int, room: int) -> list[Line]:
        if not self._order:
            words = f"nothing matches {self.needle}" if len(table.rows) else table.empty
            return wrap(fmt.visible(words), width, "dim")
        total = self._items()
        self.item = max(0, min(self.item, total - 1))
        self._top = max(0, self.item - room + 1, min(self._top, self.item, total - room))
        drawn: list[Line] = []
        for item in range(self._top, min(total, self._top + room)):
            place, detail = self._found(item)
            if detail < 0:
                drawn.append(row_line(table, plan, self._order[place]))
            else:
                lines = next(lines for at, lines in self._expanded if at == place)
                drawn.append(clip(lines[detail], width))
            if item == self.item:
                drawn[-1] = under_cursor(drawn[-1], width)
        return drawn

    def _right(self) -> Line:
        table = self._table
        if table is None or not len(table.rows):
            return self._about
        total, shown = len(table.rows), len(self._order)
        place = self._found(self.item)[0] + 1 if shown else 0
        count = f"{place:,}/{shown:,}" if shown == total else f"{place:,}/{shown:,} of {total:,}"
        needle = fmt.visible(self.needle.strip())
        looked_for = clip(line(Run(f"/{needle}" if needle else "", "key")), max(2, self.size.width // 3))
        parts = [*looked_for, Run(" " if needle else "", "dim"), Run(count, "dim")]
        return line(*parts, Run("  " if self._about else "", "dim"), *self._about)

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self.item = max(0, min(self._items() - 1, self.item + rows))
        self.redraw()

    def action_page(self, pages: int) -> None:
        """Move the cursor by what fits."""
        self.action_move(pages * max(1, self.size.height - 4))

    def action_end(self, end: int) -> None:
        """Go to the first or last row."""
        self.item = self._items() - 1 if end > 0 else 0
        self.redraw()

    def action_sort_column(self, step: int) -> None:
        """Sort by the next column at the right or left, of those in view."""
        table = self._table
        if table is None:
            return
        shown = [at for at, _ in self._layout(table).columns if table.columns[at].heading]
        here = shown.index(self.sort) if self.sort in shown else -1 if step > 0 else 0
        self._sort_by(shown[(here + step) % len(shown)])

    def action_sort_number(self, number: int) -> None:
        """Sort by a column in view, counted from the left; once more turns the order round."""
        table = self._table
        if table is None:
            return
        shown = [at for at, _ in self._layout(table).columns if table.columns[at].heading]
        if 1 <= number <= len(shown):
            self._sort_by(shown[number - 1])

    def _sort_by(self, column: int) -> None:
        table = self._table
        if table is None:
            return
        self.descending = not self.descending if column == self.sort else largest_first(table, column)
        self.sort, self._chosen = column, True
        self._sort()
        self.redraw()

    def action_invert(self) -> None:
        """Turn the order round."""
        self.descending, self._chosen = not self.descending, True
        self._sort()
        self.redraw()

    def action_expand(self) -> None:
        """Expand the row at the cursor, or fold it up again."""
        table = self._table
        if table is None or not self._order:
            return
        place = self._found(self.item)[0]
        known = [pair for pair in self._expanded if pair[0] != place]
        if len(known) == len(self._expanded):
            width = max(1, self.size.width - 2 * _EDGE)
            lines = table.details(table.rows[self._order[place]], width)
            if lines:
                known = sorted([*known, (place, lines)], key=lambda pair: pair[0])
        self._expanded = known
        self.item = self._item_of(place)
        below = next((len(lines) for at, lines in known if at == place), 0)
        self._top = min(self.item, max(self._top, self.item + below + 1 - self._room()))
        self.redraw()

    def _room(self) -> int:
        return max(1, self.size.height - 3 - len(self._notes()))

    def _notes(self) -> Sequence[str]:
        return self._table.notes[:_NOTES_MAX] if self._table is not None and self.size.height > 8 else ()

    def on_resize(self, event: events.Resize) -> None:
        """Fold up what was made for another width."""
        place = self._found(self.item)[0] if self._order else 0
        self._expanded = []
        self.item = place
        super().on_resize(event)

    def on_click(self, event: events.Click) -> None:
        """Sort by a heading, or put the cursor under the mouse."""
        table = self._table
        y = event.y - len(self._notes())
        if table is not None and y == 1:
            column = column_at(self._layout(table), event.x - _EDGE)
            if column is not None and table.columns[column].heading:
                self._sort_by(column)
        elif y > 1:
            self.item = max(0, min(self._items() - 1, self._top + y - 2))
            self.redraw()

    def scroll_by(self, lines: int) -> None:
        """Move the cursor."""
        self.action_move(lines)
