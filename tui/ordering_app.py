"""What the dashboard can have done to the training, each after a question: relaunch and stop."""

from collections.abc import Callable
from typing import TypeVar

from textual.screen import Screen

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Command, RelaunchCommand, StopCommand
from perftui.ipc.findings import Finding, Remedy
from perftui.tui.format import clean
from perftui.tui.messages import ProposalAsked
from perftui.tui.paged_app import PagedApp
from perftui.tui.renderables.remedy_words import proposal, told_time
from perftui.tui.screens.ask import STOP_WORDS, Choice, ConfirmScreen, ProposeScreen
from perftui.tui.state import DashboardState, going_on, run_of

_Answer = TypeVar("_Answer")


class OrderingApp(PagedApp):
    """An app that gives orders; the dashboard says whether it may, and sends them."""

    live: DashboardState

    def can_change(self) -> bool:
        """Whether anything can be done to this run; where not, say why."""
        raise NotImplementedError

    def command(self, command: Command, what: str) -> None:
        """Send a command; `what` names it should it be declined."""
        raise NotImplementedError

    def action_relaunch(self) -> None:
        """Propose the leading remedy."""
        found = proposal(self.live)
        if found is not None:
            self.propose(*found)
        elif self.can_change():
            self.notify("no finding so far proposes a change of settings", markup=False)

    def on_proposal_asked(self, message: ProposalAsked) -> None:
        """Propose the remedy of the finding that was chosen."""
        finding = message.finding
        if finding is not None and finding.remedy is not None and finding.remedy.set:
            self.propose(finding, finding.remedy)
        else:
            self.notify("this proposes no change of settings", markup=False)

    def propose(self, finding: Finding, remedy: Remedy) -> None:
        """Ask whether the run is to be relaunched with a finding's remedy."""
        if not self.can_change():
            return

        told_s = told_time(self.live, remedy)

        def relaunch(choice: Choice) -> None:
            command = RelaunchCommand(
                command_id=new_command_id(),
                set=remedy.set,
                trial=choice == "trial",
                finding=finding.code,
                bound=remedy.bound,
                expected=remedy.expected,
                most_s=told_s[1] if told_s else None,
            )
            self.command(command, "relaunch")

        self.ask(ProposeScreen(self.glyphs, self.live, finding, remedy), relaunch)

    def action_stop(self) -> None:
        """Ask, then stop the training."""
        if self.can_change():
            self.confirm("stop the training?", STOP_WORDS, StopCommand(command_id=new_command_id()), "stop")

    def confirm(self, title: str, words: str, command: Command, what: str) -> None:
        """Ask, and send the command on a yes."""
        self.ask(ConfirmScreen(self.glyphs, title, words, self.live), lambda _: self.command(command, what))

    def ask(self, question: Screen[_Answer], act: Callable[[_Answer], None]) -> None:
        """Ask, and act on an answer that is not a no, as long as it still means what was asked."""
        asked_of = self.live

        def answered(answer: _Answer | None) -> None:
            if answer is None or answer is False:
                return
            changed = changed_since(asked_of, self.live)
            if changed is None:
                act(answer)
            else:
                words = f"{changed} since the question was asked: nothing was done"
                self.notify(words, severity="warning", markup=False)

        self.push_screen(question, answered)


def changed_since(asked_of: DashboardState, now: DashboardState) -> str | None:
    """Say what makes the answer to a question mean something else than when it was asked; None: nothing.

    A question may stand for long, and the run be relaunched by somebody else: the dashboard follows, and the
    answer would stop or relaunch another run than the one whose name stands in the question.
    """
    if run_of(now) != run_of(asked_of):
        return f"{clean(run_of(now))} has replaced that run"
    if _under_way(now) == _under_way(asked_of):
        return None
    return "the relaunch has ended" if _under_way(now) is None else "a relaunch has begun"


def _under_way(state: DashboardState) -> str | None:
    """Return which relaunch goes on."""
    relaunch = state.relaunch
    return relaunch.relaunch_id if relaunch is not None and going_on(relaunch) else None
