"""Questions before something happens to the training: what will happen stands there in words."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from perftui.ipc.findings import Finding, Remedy
from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import CONFIRMATION, PROPOSAL
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.proposal_lines import proposal_lines
from perftui.tui.screens.sheet_screen import SheetScreen
from perftui.tui.state import DashboardState

Choice: TypeAlias = Literal["trial", "at-once"]
STOP_WORDS = (
    "The training is asked to end, and killed only if it does not. What it has not saved is lost. "
    "The recording of the run stays."
)
WINDOW_WORDS = (
    "It ends without a result at the ranks' next step, and no trace is kept. The training goes on. "
    "A window whose steps are all recorded already is still read."
)
CANCEL_WORDS = "The trials are stopped, and the run as it was is started again from its beginning."


class ProposeScreen(SheetScreen[Choice]):
    """Relaunch with the leading remedy? As it stood when the question was asked."""

    BINDINGS = PROPOSAL

    def __init__(self, glyphs: Glyphs, state: DashboardState, finding: Finding, remedy: Remedy) -> None:
        super().__init__(glyphs, "relaunch with this change?")
        self._state, self._finding, self._remedy = state, finding, remedy

    def lines(self, width: int) -> Sequence[Line]:
        """Return the proposal."""
        return proposal_lines(self._state, self._finding, self._remedy, width)

    def action_choose(self, choice: Choice) -> None:
        """Answer."""
        self.dismiss(choice)


class ConfirmScreen(SheetScreen[bool]):
    """Do it?"""

    BINDINGS = CONFIRMATION

    def __init__(self, glyphs: Glyphs, title: str, words: str, state: DashboardState) -> None:
        super().__init__(glyphs, title)
        self._words, self._state = words, state

    def lines(self, width: int) -> Sequence[Line]:
        """Return what will happen, and to which run."""
        header = self._state.header
        if header is None:
            return wrap(self._words, width)
        run = line(
            Run(f"{fmt.clean(header.name)}  ", "value"),
            Run("step ", "dim"),
            fmt.count(header.step),
            Run(f"  after {fmt.duration(header.elapsed_s)}", "dim"),
        )
        return [run, BLANK, *wrap(self._words, width)]

    def action_answer(self, answer: bool) -> None:
        """Answer."""
        self.dismiss(answer)
