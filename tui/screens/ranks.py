"""Ranks over time: who holds the others up, since when, and whether it is always the same."""

from collections.abc import Sequence

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import MANY_RANKS, Done, RanksQuery
from perftui.ipc.rank_map import BANDS_MAX, RankMap, RankMeasure
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import RANKS
from perftui.tui.messages import RankOpened
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
from perftui.tui.screens.steps_screen import StepsScreen
from perftui.tui.step_window import Bounds

_ASK_MANY_AGAIN_S = 4.0
_AROUND = 9
"""Lines of the page beside the rows: title, axis, median, key."""
_MEDIAN_MOST = 8


class RanksScreen(StepsScreen):
    """All ranks, compared by one measure at a time."""

    BINDINGS = RANKS

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._measure: RankMeasure | None = None
        """None: what suits the findings."""
        self._map: RankMap | None = None

    def ask_again_s(self) -> float:
        """Return how often is asked: of many ranks more rarely."""
        return super().ask_again_s() if len(self.state.ranks) <= MANY_RANKS else _ASK_MANY_AGAIN_S

    def question(self, bounds: Bounds, width: int) -> RanksQuery | None:
        """Ask how late each rank was."""
        if not self.state.ranks:
            return None
        first, last, newest = bounds
        return RanksQuery(
            command_id=new_command_id(),
            first_step=first,
            last_step=last,
            newest=newest,
            blocks=columns_for(width),
            bands=max(4, min(BANDS_MAX, self.page.size.height - _AROUND)),
            measure=self._measure or measure_for(self.state.findings),
        )

    def take(self, done: Done) -> None:
        """Show what was asked for."""
        self._map = done.ranks or self._map

    def forget(self) -> None:
        """Drop what is known."""
        self._map = None

    def newest_step(self) -> int:
        """Return the newest step that all ranks have done."""
        if self.frozen or self._map is None:
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
            asked = "asking the hub …" if self.state.ranks else "no rank yet"
            return [Block("", tuple(wrap(fmt.clean(self.why) or asked, width, "dim")))]
        if found.ranks == 1:
            alone = "one rank: there is nobody to compare it with"
            said = f"{fmt.NOTHING} {alone}; {self.state.keys['rank']} shows its own history"
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
        if not rows:
            return [Block("", tuple(wrap("this screen is too narrow for a picture of them", width, "dim")))]
        return [*rows, Block("", tuple(below))]

    def _median_lines(self, rows: int) -> int:
        return max(2, min(_MEDIAN_MOST, self.page.size.height - _AROUND + 2 - rows))

    def action_measure(self) -> None:
        """Compare something else: the wait, what each did before the exchange, or the whole step."""
        now = self._measure or measure_for(self.state.findings)
        measures = list(MEASURES)
        self._measure = measures[(measures.index(now) + 1) % len(measures)]
        self.ask()

    def action_open(self) -> None:
        """Show all about the latest rank of the row."""
        bands = self._map.bands if self._map is not None else []
        latest = {str(band.first_rank): band.worst_rank for band in bands}
        if self.page.key in latest:
            self.post_message(RankOpened(latest[self.page.key]))
