"""The base of pages about a stretch of the run's steps, which the hub is asked for."""

import time
from abc import abstractmethod

from perftui.ipc.dashboard_messages import Done, Question
from perftui.tui.glyphs import Glyphs
from perftui.tui.messages import QuestionAsked
from perftui.tui.screens.page_screen import PageScreen
from perftui.tui.state import DashboardState
from perftui.tui.step_window import Bounds, StepWindow

_ASK_AGAIN_S = 1.0
_NARROWEST = 2
"""Cells: on fewer nothing is drawn."""


class StepsScreen(PageScreen):
    """Follows the run, until one goes back in it or the picture is frozen."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self.frozen = False
        self.why = ""
        """Why there is no answer."""
        self._window = StepWindow()
        self._asked_s = 0.0

    @abstractmethod
    def question(self, bounds: Bounds, width: int) -> Question | None:
        """Return what to ask about these steps, for a page of `width` cells; None: nothing."""

    @abstractmethod
    def take(self, done: Done) -> None:
        """Take what was asked for; the last known stays where there is no answer."""

    @abstractmethod
    def forget(self) -> None:
        """Drop what is known: a run that replaced the one before begins its steps anew."""

    @abstractmethod
    def newest_step(self) -> int:
        """Return the newest step that there is to see."""

    def ask_again_s(self) -> float:
        """Return how often the newest steps are asked for."""
        return _ASK_AGAIN_S

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:
        """Show a state, and ask for its steps."""
        self.frozen = state is not live
        if state.run_id != self.state.run_id:
            self.forget()
            self._asked_s = 0.0
        moved = self.frozen and state is not self.state
        super().show(state, live, note)
        if moved or (not self.frozen and time.monotonic() - self._asked_s >= self.ask_again_s()):
            self.ask()

    def ask(self) -> None:
        """Ask the hub for the stretch in view."""
        width = self.page.room
        bounds = self._window.bounds(self.newest_step() if self.frozen else None)
        question = self.question(bounds, width) if width >= _NARROWEST else None
        if question is not None:
            self._asked_s = time.monotonic()
            self.post_message(QuestionAsked(question, self))

    def told(self, done: Done | None, why: str) -> None:
        """Show the answer."""
        self.why = why
        if done is not None:
            self.take(done)
        self.draw_page()

    def action_zoom(self, way: int) -> None:
        """See fewer steps, or more."""
        self._window = self._window.zoomed(way, self.newest_step())
        self.ask()

    def action_whole(self) -> None:
        """See the whole run."""
        self._window = StepWindow()
        self.ask()

    def action_shift(self, way: int) -> None:
        """Go back in the run's steps, or on."""
        self._window = self._window.shifted(way, self.newest_step())
        self.ask()
