"""All about one rank; its step history is asked of the hub, as far back and as closely as is wanted."""

from collections.abc import Sequence

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Done, StepsQuery
from perftui.ipc.step_history import StepHistory
from perftui.ipc.view import RankView
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import RANK
from perftui.tui.messages import RankFollowed
from perftui.tui.renderables.band_chart import columns_for
from perftui.tui.renderables.history_lanes import RIGHT
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.rank_sheet import RankSheet, Room, chart_marks, rank_sheet, rank_title
from perftui.tui.screens.steps_screen import StepsScreen
from perftui.tui.state import DashboardState
from perftui.tui.step_window import Bounds


class RankScreen(StepsScreen):
    """One rank; another one can be gone to."""

    BINDINGS = RANK

    def __init__(self, glyphs: Glyphs, rank: int) -> None:
        super().__init__(glyphs)
        self._rank = rank
        """The one that is wanted; where the run in view has no such rank its first one is shown."""
        self._followed = rank
        self._history: StepHistory | None = None

    def _view(self) -> RankView | None:
        views = self.state.ranks
        return next((view for view in views if view.rank == self._rank), views[0] if views else None)

    @property
    def rank(self) -> int:
        """The rank that is shown."""
        view = self._view()
        return self._rank if view is None else view.rank

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state; it may have other ranks than the one before."""
        super().show(state, live, note)
        if self.rank != self._followed:
            self._follow()

    def on_mount(self) -> None:
        """Have all told about the rank."""
        self.post_message(RankFollowed(self.rank))

    def _follow(self) -> None:
        """Show another rank than before: nothing of its steps is known yet."""
        self._followed, self.why = self.rank, ""
        self.forget()
        self.post_message(RankFollowed(self.rank))
        self.draw_page()
        self.ask()

    def question(self, bounds: Bounds, width: int) -> StepsQuery | None:
        """Ask for the steps of the rank."""
        view = self._view()
        if view is None:
            return None
        first, last, newest = bounds
        return StepsQuery(
            command_id=new_command_id(),
            rank=view.rank,
            first_step=first,
            last_step=last,
            newest=newest,
            blocks=columns_for(width - RIGHT),
        )

    def take(self, done: Done) -> None:
        """Show the steps that were asked for, unless they are of the rank before."""
        if done.steps is not None and done.steps.rank == self.rank:
            self._history = done.steps

    def forget(self) -> None:
        """Drop the steps that are known."""
        self._history = None

    def heading(self) -> Line:
        """Return who the rank is."""
        view = self._view()
        return rank_title(view) if view else line(Run("no rank yet", "title"))

    def blocks(self, width: int) -> Sequence[Block]:
        """Return everything as one text that is scrolled."""
        view, state = self._view(), self.state
        if view is None:
            return []
        parent = state.header.parent if state.header else None
        sheet = RankSheet(
            view=view,
            history=self._history,
            marks=chart_marks(state.marks, state.profiles, view.rank, parent),
            gpu=state.gpu_of(view),
            host=next((host for host in state.hosts if host.name == view.host), None),
            why_no_history=self.why,
        )
        glyphs = self.glyphs
        room = Room(width, self.page.size.height - 1, glyphs.chart, glyphs.textured)
        lines = rank_sheet(sheet, room)
        return [Block("", tuple(lines))]

    def newest_step(self) -> int:
        """Return the newest step of the rank."""
        view = self._view()
        if self.frozen and view is not None:
            return max(0, view.steps - 1)
        return self._history.newest_step if self._history else 0

    def action_rank(self, step: int) -> None:
        """Show another rank, with the same stretch of steps."""
        ranks = [view.rank for view in self.state.ranks]
        if ranks:
            self._rank = ranks[max(0, min(len(ranks) - 1, ranks.index(self.rank) + step))]
            self._follow()
