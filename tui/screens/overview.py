"""The main screen: is it fine, every rank, step times, findings, output."""

from collections.abc import Collection, Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Grid

from perftui.ipc.findings import Finding
from perftui.tui.config.settled import PANEL_WORDS
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import OVERVIEW
from perftui.tui.layout import WIDE, Plan, plan, verdict_room
from perftui.tui.messages import RankChosen, RankFollowed, RankOpened
from perftui.tui.renderables.finding_lines import finding_heights
from perftui.tui.renderables.headline import verdict_lines
from perftui.tui.renderables.phase_words import time_words
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.relaunch_lines import relaunch_lines
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState, going_on
from perftui.tui.widgets.findings import FindingsPanel
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.output_tail import OutputTail
from perftui.tui.widgets.picture import ScrolledPicture
from perftui.tui.widgets.rank_panel import RankPanel
from perftui.tui.widgets.rank_table import RankTable
from perftui.tui.widgets.relaunch_panel import RelaunchPanel
from perftui.tui.widgets.run_header import RunHeader, VerdictLines
from perftui.tui.widgets.status import StatusLine
from perftui.tui.widgets.step_chart import StepChart


class OverviewScreen(RunScreen):
    """Everything at a glance."""

    BINDINGS = OVERVIEW

    def __init__(self, glyphs: Glyphs, run_id: str, panels: Collection[str] = PANEL_WORDS) -> None:
        super().__init__()
        self._glyphs, self._panels = glyphs, panels
        self._state = DashboardState(run_id=run_id)
        self._rank = 0
        self._needed_for: tuple[tuple[Finding, ...], int] = ((), 0)
        self._needed: tuple[tuple[object, ...], tuple[int, int]] = ((), (0, 0))
        self._verdict_height: tuple[object, int] = (None, 0)
        self._plan: Plan | None = None
        self._header = RunHeader(glyphs, id="header")
        self._verdict = VerdictLines(glyphs, id="verdict")
        self._cards = Grid(id="cards")
        self._table = RankTable(glyphs, id="table")
        self._chart = StepChart(glyphs, id="chart")
        self._relaunch = RelaunchPanel(glyphs, id="relaunch")
        self._bottom = Container(id="bottom")
        self._findings = FindingsPanel(glyphs, id="findings")
        self._output = OutputTail(glyphs, id="output")
        self._status = StatusLine(glyphs, id="status")

    @property
    def rank(self) -> int:
        """The chosen rank."""
        return self._rank

    def compose(self) -> ComposeResult:
        """Place the widgets; how high each is follows from the plan."""
        yield self._header
        yield self._verdict
        yield self._cards
        yield self._table
        yield self._chart
        yield self._relaunch
        with self._bottom:
            yield self._findings
            yield self._output
        yield self._status
        yield KeyLine(self._glyphs)

    def key_words(self, binding: Binding) -> tuple[str, ...]:
        """Say that the training goes on without the dashboard, where there is room to."""
        goes_on = self._state.header is not None and not (self._state.ended or self._state.replayed)
        if binding.id == "detach" and goes_on and self.size.width >= WIDE:
            return "leave running", "leave: the training goes on"
        return super().key_words(binding)

    def on_resize(self, _event: events.Resize) -> None:
        """Share out the room anew."""
        self._arrange()

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state, all of it from one time; `note` says from when, where it is not the newest."""
        self._state = state
        gone = live.header is not None and not live.connected and not live.ended
        self.set_class(gone or (live.ended and going_on(live.relaunch)), "-lost")
        self._header.show(state, note)
        self._verdict.show(state)
        self._status.show(state)
        if state.ranks and all(view.rank != self._rank for view in state.ranks):
            self._rank = state.ranks[0].rank
            self.post_message(RankFollowed(self._rank))
        self._arrange()
        self._fill()

    def _arrange(self) -> None:
        """Apply the plan when it differs from the one in force."""
        relaunch = 0
        if self._state.relaunch is not None:
            lines = relaunch_lines(self._state.relaunch, self.size.width - 4) if self.size.width > 20 else []
            relaunch = 2 + max(4, len(lines))
        wanted = plan(
            self.size.width,
            self.size.height,
            len(self._state.ranks),
            gpus=bool(self._state.gpus),
            workers=any(view.workers for view in self._state.ranks),
            device_times=any(view.device_ms for view in self._state.ranks),
            pauses=any(time_words(view.phases_s, self.size.width) for view in self._state.ranks),
            relaunch=relaunch,
            findings=self._lines_needed(),
            verdict=self._verdict_needed(),
            panels=self._panels,
        )
        self.set_class(relaunch > 0, "-relaunch")
        if wanted != self._plan:
            self._plan = wanted
            self._apply(wanted, relaunching=relaunch > 0)

    def _lines_needed(self) -> tuple[int, int]:
        """Return the room that the findings need: the most so far, so that nothing jumps about."""
        state, width = self._state, self.size.width
        if (state.findings, width) == self._needed_for:
            return self._needed[1]
        self._needed_for = state.findings, width
        what = (width, *((finding.code, finding.rank) for finding in state.findings))
        inner = (width // 2 if width >= WIDE else width) - 4
        lead, every = finding_heights(state, inner) if inner > 0 else (0, 0)
        if what == self._needed[0]:
            lead, every = max(lead, self._needed[1][0]), max(every, self._needed[1][1])
        self._needed = what, (lead, every)
        return lead, every

    def _verdict_needed(self) -> int:
        """Return how many lines the verdict takes: the most so far, as long as the same finding leads."""
        state, (width, height) = self._state, self.size
        lead = next(((each.code, each.rank) for each in state.findings), None)
        drawn = len(verdict_lines(state, width, verdict_room(height)))
        about = (lead, width, height, state.relaunch is None, state.ended)
        known = self._verdict_height[1] if about == self._verdict_height[0] else 0
        self._verdict_height = about, max(drawn, known)
        return self._verdict_height[1]

    def _apply(self, wanted: Plan, *, relaunching: bool) -> None:
        cards, table, chart, panel = self._cards, self._table, self._chart, self._relaunch
        self._verdict.styles.height = wanted.verdict
        cards.display = wanted.columns > 0
        cards.styles.height = wanted.ranks
        cards.styles.grid_size_columns = max(1, wanted.columns)
        cards.styles.grid_rows = str(wanted.card)
        table.display = wanted.columns == 0 and wanted.ranks > 0
        table.styles.height = wanted.ranks
        chart.display = wanted.middle > 0 and not relaunching
        chart.styles.height = wanted.middle
        panel.display = wanted.middle > 0 and relaunching
        panel.styles.height = wanted.middle
        self._status.display = wanted.status > 0
        self._status.styles.height = wanted.status
        self._bottom.set_class(wanted.side_by_side, "-wide")
        cramped = not wanted.side_by_side and wanted.bottom < 8
        alone = cramped and wanted.output > 0
        self._findings.display = wanted.findings > 0 and not (alone and relaunching)
        self._findings.styles.height = wanted.bottom if cramped else wanted.findings
        self._output.display = wanted.output > 0 and (not cramped or relaunching or not wanted.findings)

    def _pictures(self) -> Sequence[RankPicture]:
        state = self._state
        return [RankPicture(view, state.track(view.rank), state.gpu_of(view)) for view in state.ranks]

    def _fill(self) -> None:
        state, pictures = self._state, self._pictures()
        if self._plan is not None and self._plan.columns:
            self._fill_cards(pictures)
        else:
            together = state.together
            self._table.show(pictures, self._rank, together.medians if together else {})
        self._chart.show(self._rank, state.track(self._rank), state.marks)
        self._relaunch.show(state.relaunch)
        self._findings.show(state)
        self._output.show(state.output, state.partial, whole=state.replayed)

    def _fill_cards(self, pictures: Sequence[RankPicture]) -> None:
        """Show every rank in its card, in their order; cards come and go only when ranks do."""
        grid = self._cards
        if not grid.is_attached:
            return
        known = {panel.picture.view.rank: panel for panel in self.query(RankPanel)}
        wanted = {picture.view.rank for picture in pictures}
        for rank in known.keys() - wanted:
            known[rank].remove()
        for picture in pictures:
            panel = known.get(picture.view.rank)
            if panel is None:
                panel = RankPanel(self._glyphs, picture)
                later = [rank for rank in known if rank > picture.view.rank and rank in wanted]
                grid.mount(panel, before=known[min(later)] if later else None)
                known[picture.view.rank] = panel
            panel.show(picture, selected=picture.view.rank == self._rank and len(pictures) > 1)

    def _choose(self, rank: int) -> None:
        if rank != self._rank:
            self._rank = rank
            self.post_message(RankFollowed(rank))
            self._fill()

    def on_rank_chosen(self, message: RankChosen) -> None:
        """Show the history of the chosen rank."""
        self._choose(message.rank)

    @property
    def _carded(self) -> bool:
        return self._plan is not None and self._plan.columns > 0

    def action_rank(self, step: int) -> None:
        """Choose another rank, in the order in which they stand."""
        ranks = [view.rank for view in self._state.ranks]
        if not ranks:
            return
        if not self._carded:
            self._choose(self._table.beside(self._rank, step))
            return
        here = ranks.index(self._rank) if self._rank in ranks else 0
        rank = ranks[max(0, min(len(ranks) - 1, here + step))]
        self._choose(rank)
        for panel in self.query(RankPanel):
            if panel.picture.view.rank == rank:
                panel.focus()

    def action_edge(self, way: int) -> None:
        """Choose the first rank, or the last."""
        self.action_rank(way * max(1, len(self._state.ranks)))

    def action_sort(self, way: int) -> None:
        """Sort the table of ranks by the next column, or by the one before."""
        if self._has_table():
            self._table.sort_beside(way)

    def action_invert(self) -> None:
        """Turn the order of the table round."""
        if self._has_table():
            self._table.sort(self._table.order.turned())

    def _has_table(self) -> bool:
        """Whether the ranks stand in a table; where they do not, say so."""
        shown = self._plan is not None and self._plan.columns == 0 and self._plan.ranks > 0
        if not shown:
            self.notify("there is no table of ranks here to sort", markup=False)
        return shown

    def action_vertical(self, step: int) -> None:
        """Scroll the panel that has the focus, or choose the rank above or below."""
        if isinstance(self.focused, ScrolledPicture):
            self.focused.scroll_by(step)
        else:
            self.action_rank(step * max(1, self._plan.columns if self._plan else 1))

    def action_sideways(self, step: int) -> None:
        """Choose the rank before or after."""
        self.action_rank(step)

    def action_page(self, step: int) -> None:
        """Scroll by a page."""
        focused = self.focused
        if isinstance(focused, ScrolledPicture):
            focused.scroll_by(step * max(1, focused.size.height - 3))
        else:
            self.action_rank(step * (10 if self._carded else self._table.rows))

    def action_follow(self) -> None:
        """Follow the output again."""
        self._output.follow()

    def action_open_rank(self) -> None:
        """Show all about the chosen rank."""
        self.post_message(RankOpened(self._rank))
