"""A profile: head, tabs, table or timeline. The dashboard and `perftui trace` show the same one.

What takes time (reading files, sorting a timeline) is done in threads, which report back by messages.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from perftui.ipc.errors import PerftuiError, Refused
from perftui.ipc.places import current_folder
from perftui.ipc.view import ProfileView
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import TRACE
from perftui.tui.messages import ReportRead, SpanAsked, TimelineRead, WindowsCompared
from perftui.tui.renderables.lines import BLANK, Line, Run, line
from perftui.tui.renderables.span_details import span_details
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_tabs import ALL_TABS, TABS, tabs_of
from perftui.tui.report_shelf import ReportShelf
from perftui.tui.screens.trace_sheets import ExportScreen, FactsScreen, FileScreen
from perftui.tui.table_export import ExportKind, export_table
from perftui.tui.trace_files import beside
from perftui.tui.trace_reading import report_read, timeline_read, windows_compared
from perftui.tui.widgets.picture import app_of, key_names_for
from perftui.tui.widgets.timeline import Timeline
from perftui.tui.widgets.trace_head import FilterLine, TraceHead
from perftui.tui.widgets.trace_table import TraceTable

_TIMELINE = next(at for at, tab in enumerate(TABS) if tab.table is None)
_DIFFERENCE = next(at for at, tab in enumerate(TABS) if tab.id == "difference")
_NEED_TIMELINE = ("timeline", "events")
_SHEET_WIDTH = 92


class TracePane(Vertical):
    """One window, one rank of it, one tab."""

    BINDINGS = TRACE

    def __init__(self, glyphs: Glyphs, shelf: ReportShelf, label: str = "") -> None:
        super().__init__(id="trace")
        self._glyphs, self._shelf, self._label = glyphs, shelf, label
        self._head = TraceHead(glyphs, id="trace-head")
        self._filter = FilterLine(id="trace-filter")
        self._table = TraceTable(glyphs, id="rows")
        self._timeline = Timeline(glyphs, id="timeline")
        self._known = TraceContext()
        self._shown: tuple[int, TraceContext] | None = None
        self._tab = 0
        self._path: Path | None = None
        self._timeline_path: Path | None = None
        self._pair: tuple[Path, Path, int] | None = None
        self._asked: tuple[str, Collection[str]] | None = None
        """A tab to open a window at, and the windows that are not meant."""
        self._tabs_of: tuple[TraceContext, tuple[int, ...]] = self._known, ALL_TABS
        self._timeline.display = False

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._head
        yield self._filter
        yield self._table
        yield self._timeline

    def show(self, view: ProfileView | None, path: Path | None, why: str = "") -> None:
        """Show a window, and its report once that is read; `why` says why there is none."""
        if path != self._path:
            self._path = path
            self._timeline_path = self._pair = None
            self._known = TraceContext(rank=self._known.rank, why="reading the report …" if path else why)
            if path is not None:
                self._in_thread(partial(report_read, self._shelf, path), "report")
        context = replace(self._known, view=view, end_key=key_names_for(self)["profile-end"])
        self._known = context if path is not None else replace(context, why=why)
        self._fill()

    def _in_thread(self, work: Callable[[], Message], group: str) -> None:
        """Do what takes a while in a thread; what came of it arrives as a message."""

        def run() -> None:
            self.post_message(work())

        self.run_worker(run, thread=True, group=group, exit_on_error=False)

    def on_report_read(self, message: ReportRead) -> None:
        """Take over a report."""
        if message.path == self._path:
            self._known = replace(self._known, report=message.report, why=message.why)
            self._fill()

    def on_timeline_read(self, message: TimelineRead) -> None:
        """Take over a timeline."""
        if message.path == self._timeline_path:
            self._known = replace(self._known, timeline=message.index, why_no_timeline=message.why)
            self._fill()

    def on_windows_compared(self, message: WindowsCompared) -> None:
        """Take over a difference."""
        if message.pair == self._pair:
            self._known = replace(self._known, difference=message.found, why_no_difference=message.why)
            self._fill()

    def _fill(self) -> None:
        """Show what is known; nothing is built anew when nothing has changed."""
        self._as_asked()
        self._want()
        if self._shown == (self._tab, self._known) or not self.is_mounted:
            return
        self._shown = self._tab, self._known
        context, tab = self._known, TABS[self._tab]
        self._table.tabs = self._timeline.tabs = self._tabs()
        self._head.show(context, self.size.width, self.screen.size.height)
        table_shown = tab.table is not None
        self._table.display, self._timeline.display = table_shown, not table_shown
        if tab.table is not None:
            self._table.show(self._tab, tab.table(context), self._about())
        else:
            why = context.why_empty or context.why_no_timeline
            self._timeline.show(self._tab, context.timeline, why, self._about())

    def _want(self) -> None:
        """Have files read that the tab in view needs."""
        mine, path = self._known.rank_report, self._path
        if mine is None or path is None:
            return
        tab = TABS[self._tab].id
        if tab in _NEED_TIMELINE:
            self._want_timeline(path, mine.timeline_path)
        if tab == "difference":
            self._want_difference(path, mine.rank)

    def _want_timeline(self, path: Path, named: str | None) -> None:
        if named is None:
            why = "no timeline was made of this trace"
            self._timeline_path = None
            self._known = replace(self._known, timeline=None, why_no_timeline=why)
            return
        wanted = beside(path, named)
        if wanted != self._timeline_path:
            self._timeline_path = wanted
            self._known = replace(self._known, timeline=None, why_no_timeline="reading the timeline …")
            self._in_thread(partial(timeline_read, wanted), "timeline")

    def _want_difference(self, path: Path, rank: int) -> None:
        before = self._shelf.before(path)
        if before is None:
            self._pair = None
            why = "there is no window before this one to compare with"
            self._known = replace(self._known, difference=None, why_no_difference=why)
            return
        pair = before.path, path, rank
        if pair != self._pair:
            self._pair = pair
            self._known = replace(self._known, difference=None, why_no_difference="comparing …")
            self._in_thread(partial(windows_compared, self._shelf, *pair), "compare")

    def _about(self) -> Line:
        """Say in the frame which rank is in view, and what it is compared with."""
        context = self._known
        if TABS[self._tab].id == "difference" and self._path is not None:
            before = self._shelf.before(self._path)
            name = fmt.visible(before.name) if before else ""
            return line(Run(f"since {name}", "title")) if name else BLANK
        if context.chosen is None:
            return BLANK
        ranks = context.ranks
        many = f" of {len(ranks)}" if len(ranks) > 1 else ""
        return line(Run(f"{context.each} {context.chosen}{many}", "title"))

    def on_resize(self, _event: events.Resize) -> None:
        """Give the head the room that it needs at another width."""
        self._shown = None
        self._fill()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer to filter and to export only tables, and the timeline only from them."""
        if action == "find" and self._filter.display:
            return False  # what is typed into gets the key
        return self._table.display if action in ("find", "export", "timeline") else True

    def action_part(self, step: int) -> None:
        """Go to another tab."""
        tabs = self._tabs()
        at = tabs.index(self._tab) if self._tab in tabs else 0
        self._asked = None
        self._go_to(tabs[(at + step) % len(tabs)])

    def _tabs(self) -> tuple[int, ...]:
        if self._tabs_of[0] is not self._known:
            self._tabs_of = self._known, tabs_of(self._known)
        return self._tabs_of[1]

    def ask_tab(self, tab_id: str, beside: Collection[str]) -> None:
        """Open the next window that is none of those `beside` at a tab, if that has anything to show."""
        self._asked = tab_id, beside

    def _as_asked(self) -> None:
        view, asked = self._known.view, self._asked
        if asked is None or self._known.report is None or view is None or view.window_id in asked[1]:
            return
        self._asked = None
        at = next(at for at, tab in enumerate(TABS) if tab.id == asked[0])
        table = TABS[at].table
        if table is not None and table(self._known).rows:
            self._tab = at

    def _go_to(self, tab: int) -> None:
        self._tab = tab
        self._close_filter()
        self._fill()
        self.refresh_bindings()
        (self._timeline if TABS[tab].table is None else self._table).focus()

    def action_rank(self, step: int) -> None:
        """Go to another rank."""
        ranks = self._known.ranks
        chosen = self._known.chosen
        if chosen is not None and len(ranks) > 1:
            rank = ranks[(ranks.index(chosen) + step) % len(ranks)]
            self._known = replace(self._known, rank=rank)
            self._fill()

    def action_timeline(self) -> None:
        """Show the timeline; from a row that lies on it, at that row."""
        table, row = self._table.table, self._table.row_at_cursor()
        at_us = table.at_us(row) if table is not None and table.at_us and row is not None else None
        if at_us is not None and self._table.display:
            self._timeline.go_to(at_us, float(getattr(row, "duration_us", 0.0)))
        self._go_to(_TIMELINE)

    def action_difference(self) -> None:
        """Show what changed since the window before, or the marked one."""
        self._go_to(_DIFFERENCE)

    def action_mark(self) -> None:
        """Compare other windows with this one."""
        if self._path is None or self._known.report is None:
            self.notify("this window has no report to compare with", markup=False)
            return
        self._shelf.mark(self._path)
        shows = key_names_for(self)["difference"]
        self.notify(f"other windows are now compared with this one: {shows} shows it", markup=False)

    def action_file(self) -> None:
        """Tell where the trace is."""
        mine, told = self._known.rank_report, self._known.profile_rank
        trace = mine.path if mine else told.path if told else None
        screen = FileScreen(self._glyphs, trace, self._path, mine.host if mine else None)
        app_of(self).push_screen(screen)

    def on_span_asked(self, message: SpanAsked) -> None:
        """Tell all about a span."""
        width = max(16, min(_SHEET_WIDTH, self.size.width - 8))
        lines = span_details(message.index, message.span, width)
        app_of(self).push_screen(FactsScreen(self._glyphs, "a span", lines))

    def action_find(self) -> None:
        """Begin to type a filter."""
        self._filter.value = self._table.needle
        self._filter.display = True
        self.screen.set_focus(self._filter)  # at once: keys may come in a burst

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        if self._filter.display:
            self._table.filter(event.value)

    def on_filter_closed(self) -> None:
        """Go back to the rows."""
        self._table.filter(self._filter.value)
        self._close_filter()
        self.screen.set_focus(self._table)

    def _close_filter(self) -> None:
        self._filter.display = False

    def action_export(self) -> None:
        """Ask what the table is to be written as."""
        table, order = self._table.table, self._table.order
        if TABS[self._tab].table is None or table is None or not order:
            self.notify("there is no row to export", markup=False)
            return
        try:
            folder = current_folder()
        except Refused as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        tab, rows = TABS[self._tab], tuple(order)
        whole = f"of {len(table.rows):,}" if len(rows) < len(table.rows) else "in all"
        stem = "-".join(["perftui", *self._stem(), tab.id])

        def chosen(kind: ExportKind | None) -> None:
            if kind is not None:
                write = partial(self._export, partial(export_table, table, rows, folder, stem, kind))
                self.run_worker(write, thread=True, group="export", exit_on_error=False)

        what = f"{tab.title}: {len(rows):,} rows {whole}, as they are sorted and filtered"
        app_of(self).push_screen(ExportScreen(self._glyphs, what, folder), chosen)

    def _stem(self) -> list[str]:
        view, rank = self._known.view, self._known.chosen
        name = view.window_id if view else self._label.partition(".")[0]
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)[:60]
        return [safe or "trace", *([f"rank{rank}"] if rank is not None else [])]

    def _export(self, write: "partial[Path]") -> None:
        try:
            self.notify(f"written: {write()}", markup=False)
        except PerftuiError as error:
            self.notify(str(error), severity="error", markup=False)
