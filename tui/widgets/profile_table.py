"""The tables of a profiling window, with a cursor."""

from collections.abc import Sequence

from textual import events

from perftui.ipc.view import ProfileView
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, frame, line, plain
from perftui.tui.renderables.profile_lines import PARTS, Part, Table, cost_line, profile_table, sort_keys
from perftui.tui.widgets.picture import Picture


class ProfileTable(Picture, can_focus=True):
    """One table at a time: operators, kernels or ranks."""

    view: ProfileView | None = None
    rank: int | None = None
    part: Part = "operators"
    sort = "e"
    row = 0
    top = 0

    def show(self, view: ProfileView | None) -> None:
        """Show a window."""
        self.view = view
        self.redraw()

    def move(self, rows: int) -> None:
        """Move the cursor."""
        self.row = max(0, self.row + rows)
        self.redraw()

    def sort_by(self, key: str) -> None:
        """Sort by the column of that letter, if this table has one."""
        if key in sort_keys(self.part):
            self.sort, self.row, self.top = key, 0, 0
            self.redraw()

    def next_part(self, step: int = 1) -> None:
        """Go to another table."""
        self.part = PARTS[(PARTS.index(self.part) + step) % len(PARTS)]
        self.sort = "n" if self.part == "ranks" else "e"
        self.row = self.top = 0
        self.redraw()

    def next_rank(self, step: int) -> None:
        """Go to another rank."""
        ranks = [row.rank for row in self.view.ranks] if self.view else []
        if ranks:
            here = ranks.index(self.rank) if self.rank in ranks else 0
            self.rank = ranks[(here + step) % len(ranks)]
            self.row = self.top = 0
            self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw heading and rows in a frame whose title names the tables."""
        width, height = self.size
        if self.view is None:
            return frame([], width, height, self._tabs())
        inner, room = width - 4, max(1, height - 3)
        table = profile_table(self.view, self.rank, self.part, self.sort, inner)
        body = [table.heading, *self._rows(table, inner, room)]
        right = cost_line(self.view, self.rank, wide=width >= 110)
        return frame(body, width, height, self._tabs(), right, "frame")

    def _rows(self, table: Table, width: int, room: int) -> list[Line]:
        if not table.rows:
            return [line(Run(table.empty, "dim"))]
        self.row = min(self.row, len(table.rows) - 1)
        self.top = max(self.row - room + 1, min(self.top, self.row))
        shown = list(table.rows[self.top : self.top + room])
        shown[self.row - self.top] = _under_cursor(shown[self.row - self.top], width)
        return shown

    def _tabs(self) -> Line:
        runs: list[Run] = []
        for part in PARTS:
            chosen = part == self.part
            runs.append(Run(f"[{part}]" if chosen else f" {part} ", "title" if chosen else "dim"))
        return tuple(runs)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse."""
        if event.y >= 2:
            self.row = self.top + event.y - 2
            self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move down."""
        event.stop()
        self.move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move up."""
        event.stop()
        self.move(-3)


def _under_cursor(row: Line, width: int) -> Line:
    text = plain(clip(row, width)) if row else plain(BLANK)
    return line(Run(f"{text:<{width}}", "cursor"))
