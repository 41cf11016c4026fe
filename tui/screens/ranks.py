"""Ranks over time: who holds the others up, since when, and whether it is always the same."""

import time
from collections.abc import Sequence

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Done, RanksQuery
from perftui.ipc.rank_map import BANDS_MAX, RankMap, RankMeasure
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import RANKS
from perftui.tui.messages import QuestionAsked, RankOpened
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.rank_heat import (
    MEASURES,
    columns_for,
    heat_axis,
    heat_key,
    heat_median,
    heat_rows,
    heat_style,
    measure_for,
)
from perftui.tui.renderables.rank_sheet import chart_marks
from perftui.tui.screens.page_screen import PageScreen
from perftui.tui.state import DashboardState
from perftui.tui.step_window import StepWindow

_ASK_AGAIN_S, _ASK_MANY_AGAIN_S = 1.0, 4.0
_MANY_RANKS = 64
_AROUND = 9
"""Lines of the page beside the rows: title, axis, median, key."""
_MEDIAN_MOST = 8


class RanksScreen(PageScreen):
    """Follows the run, until one goes back in it or the picture is frozen."""

    BINDINGS = RANKS

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._window = StepWindow()
        self._measure: RankMeasure | None = None
        """None: what suits the findings."""
        self._map: RankMap | None = None
        self._why = ""
        self._asked_s = 0.0
        self._frozen = False

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state, and ask for the newest steps once a second, more rarely of many ranks."""
        self._frozen = state is not live
        if state.run_id != self.state.run_id:
            self._map, self._asked_s = None, 0.0
        moved = self._frozen and state is not self.state
        super().show(state, live, note)
        every_s = _ASK_AGAIN_S if len(state.ranks) <= _MANY_RANKS else _ASK_MANY_AGAIN_S
        if moved or (not self._frozen and time.monotonic() - self._asked_s >= every_s):
            self._ask()

    def _ask(self) -> None:
        width = self.page.room
        if not self.state.ranks or width < 2:
            return
        self._asked_s = time.monotonic()
        first, last, newest = self._window.bounds(self._newest() if self._frozen else None)
        question = RanksQuery(
            command_id=new_command_id(),
            first_step=first,
            last_step=last,
            newest=newest,
            blocks=columns_for(width),
            bands=max(4, min(BANDS_MAX, self.page.size.height - _AROUND)),
            measure=self._measure or measure_for(self.state.findings),
        )
        self.post_message(QuestionAsked(question, self))

    def told(self, done: Done | None, why: str) -> None:
        """Show what was asked for; the last known stays where there is no answer."""
        self._why = why
        if done is not None and done.ranks is not None:
            self._map = done.ranks
        self.draw_page()

    def _newest(self) -> int:
        if self._frozen or self._map is None:
            return max(0, min((view.steps for view in self.state.ranks), default=1) - 1)
        return self._map.newest_step

    def heading(self) -> Line:
        """Return what is compared."""
        found = self._map
        if found is None:
            return line(Run("ranks over time", "title"))
        behind = found.newest_step - found.last_step
        later = f", {behind:,} before the newest" if behind else ""
        ranks = "1 rank" if found.ranks == 1 else f"{found.ranks:,} ranks"
        span = f"  {ranks}, steps {found.first_step:,} to {found.last_step:,}{later}"
        return line(Run("ranks over time", "title"), Run(span, "dim"))

    def blocks(self, width: int) -> Sequence[Block]:
        """Return a block a row, so that one can be chosen and opened."""
        found, style = self._map, heat_style(self.glyphs)
        if found is None:
            return [Block("", tuple(wrap(fmt.clean(self._why) or "asking the hub …", width, "dim")))]
        if found.ranks == 1:
            said = f"{fmt.NOTHING} one rank: there is nobody to compare it with; enter shows its own history"
            return [Block(str(found.bands[0].first_rank), tuple(wrap(said, width, "dim")))]
        state = self.state
        marks = chart_marks(state.marks, state.profiles, 0, state.header.parent if state.header else None)
        below = [
            heat_axis(found, width, marks),
            *heat_median(found, width, self._median_lines(len(found.bands)), style),
            BLANK,
            *heat_key(found, width, style),
        ]
        rows = [Block(f"{row.first_rank}", (row.line,)) for row in heat_rows(found, width, style)]
        return [*rows, Block("", tuple(below))]

    def _median_lines(self, rows: int) -> int:
        return max(2, min(_MEDIAN_MOST, self.page.size.height - _AROUND + 2 - rows))

    def action_zoom(self, way: int) -> None:
        """See fewer steps, or more."""
        self._window = self._window.zoomed(way, self._newest())
        self._ask()

    def action_whole(self) -> None:
        """See the whole run."""
        self._window = StepWindow()
        self._ask()

    def action_shift(self, way: int) -> None:
        """Go back in the run's steps, or on."""
        self._window = self._window.shifted(way, self._newest())
        self._ask()

    def action_measure(self) -> None:
        """Compare something else: the wait, what each did before the exchange, or the whole step."""
        now = self._measure or measure_for(self.state.findings)
        measures = list(MEASURES)
        self._measure = measures[(measures.index(now) + 1) % len(measures)]
        self._ask()

    def action_open(self) -> None:
        """Show all about the latest rank of the row."""
        bands = self._map.bands if self._map is not None else []
        latest = {str(band.first_rank): band.worst_rank for band in bands}
        if self.page.key in latest:
            self.post_message(RankOpened(latest[self.page.key]))
