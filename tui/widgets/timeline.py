"""The timeline of one rank, moved and zoomed by keys and mouse."""

from collections.abc import Callable, Sequence

from textual import events

from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import TIMELINE
from perftui.tui.messages import SpanAsked
from perftui.tui.renderables import timeline_view as views
from perftui.tui.renderables.lines import BLANK, Line, frame, width_of, wrap
from perftui.tui.renderables.timeline_index import Span, TimelineIndex
from perftui.tui.renderables.timeline_lines import label_width, span_at_cursor, timeline_lines, tracks_room
from perftui.tui.renderables.timeline_view import TimeView
from perftui.tui.renderables.trace_tabs import ALL_TABS, tab_line
from perftui.tui.widgets.picture import FramedPicture

_AROUND = 4
"""A stretch that is gone to fills one part in so many of the view."""
_AROUND_MIN_NS = 20_000


class Timeline(FramedPicture):
    """Streams and host threads."""

    BINDINGS = TIMELINE
    wheel_lines = 1

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self._tab = 0
        self.tabs: Sequence[int] = ALL_TABS
        """Those that this window has."""
        self._index: TimelineIndex | None = None
        self._view: TimeView | None = None
        self._why = ""
        self._about: Line = BLANK
        self._top = 0
        self._wanted: tuple[float, float] | None = None

    @property
    def view(self) -> TimeView | None:
        """What is in view."""
        return self._view

    def show(self, tab: int, index: TimelineIndex | None, why: str, about: Line) -> None:
        """Show a timeline, or why there is none."""
        if index is not self._index:
            self._view = views.first_view(index) if index is not None and index.lines else None
            self._top = 0
        self._tab, self._index, self._why, self._about = tab, index, why, about
        if self._view is not None and self._wanted is not None:
            self.go_to(*self._wanted)
        self.redraw()

    def go_to(self, start_us: float, duration_us: float) -> None:
        """Show a stretch of time with its surroundings, now or as soon as there is a timeline."""
        if self._index is None or self._view is None:
            self._wanted = start_us, duration_us
            return
        self._wanted = None
        around = max(_AROUND_MIN_NS, round(duration_us * 1000) * _AROUND)
        self._view = views.to_time(self._index, self._view, round(start_us * 1000), around)
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw it in a frame whose title names the tabs."""
        width, height = self.size
        title = tab_line(self._tab, width - width_of(self._about) - 10, self.tabs)
        if self._index is None or self._view is None:
            why = wrap(self._why or "no spans in this timeline", max(1, width - 4), "dim")
            return frame(why, width, height, title, self._about, self.frame_role)
        inner, rows = max(1, width - 4), max(1, height - 2)
        room = tracks_room(rows)
        lines = len(self._index.lines)
        self._top = max(0, self._view.line - room + 1, min(self._top, self._view.line, lines - room))
        textured = self.glyphs.textured
        body = timeline_lines(self._index, self._view, self._top, inner, rows, textured=textured)
        return frame(body, width, height, title, self._about, self.frame_role)

    def _cells(self) -> int:
        inner = max(1, self.size.width - 4)
        return max(1, inner - label_width(inner))

    def _move(self, moved: Callable[[TimelineIndex, TimeView], TimeView]) -> None:
        if self._index is not None and self._view is not None:
            self._view = moved(self._index, self._view)
            self.redraw()

    def action_scroll_time(self, steps: int) -> None:
        """Scroll in time."""
        self._move(lambda index, view: views.scrolled(index, view, steps, self._cells()))

    def action_nudge(self, cells: int) -> None:
        """Move the cursor by cells."""
        self._move(lambda index, view: views.nudged(index, view, cells, self._cells()))

    def action_zoom(self, steps: int) -> None:
        """Zoom in or out round the cursor."""
        self._move(lambda index, view: views.zoomed(index, view, steps, self._cells()))

    def action_whole(self) -> None:
        """Show the whole window."""
        self._move(views.whole)

    def action_lane(self, lines: int) -> None:
        """Go to another line."""
        self._move(lambda index, view: views.to_line(index, view, lines))

    def action_step(self, step: int) -> None:
        """Go from step to step."""
        if self._index is not None and not self._index.steps:
            self.notify("no steps were recorded in this window", markup=False)
            return
        self._move(lambda index, view: views.step_view(index, view, step))

    def action_span(self, step: int) -> None:
        """Go from span to span on the line of the cursor."""
        self._move(lambda index, view: views.span_step(index, view, step))

    def action_end(self, end: int) -> None:
        """Go to the beginning or the end."""
        self._move(lambda index, view: views.to_end(index, view, end))

    def action_tell(self) -> None:
        """Ask for all about the span at the cursor."""
        if self._index is not None and self._view is not None:
            found = span_at_cursor(self._index, self._view, self._cells())
            if found is not None:
                self.post_message(SpanAsked(self._index, found[0]))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse."""
        index, view = self._index, self._view
        cell = event.x - 2 - label_width(max(1, self.size.width - 4))
        row = self._top + event.y - 3
        if index is None or view is None or not 0 <= cell < self._cells():
            return
        number = max(0, min(len(index.lines) - 1, row))
        time_ns = views.edges(view, self._cells())[cell]
        at = index.covering(number, time_ns)
        moved = views.to_line(index, view, number - view.line)
        self._move(lambda index, _: views.at_time(index, moved, time_ns))
        if at is not None and event.chain > 1:
            self.post_message(SpanAsked(index, Span(number, at)))

    def scroll_by(self, lines: int) -> None:
        """Go to the lines below, or above."""
        self.action_lane(lines)
