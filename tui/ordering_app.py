"""What the dashboard can have done to the training, each after a question: relaunch and stop."""

from perftui.ipc.dashboard_link import new_command_id
from perftui.ipc.dashboard_messages import Command, RelaunchCommand, StopCommand
from perftui.ipc.findings import Finding, Remedy
from perftui.tui.messages import ProposalAsked
from perftui.tui.paged_app import PagedApp
from perftui.tui.renderables.remedy_words import proposal
from perftui.tui.screens.ask import STOP_WORDS, Choice, ConfirmScreen, ProposeScreen
from perftui.tui.state import DashboardState


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

        def relaunch(choice: Choice | None) -> None:
            if choice is not None:
                command = RelaunchCommand(
                    command_id=new_command_id(),
                    set=remedy.set,
                    trial=choice == "trial",
                    finding=finding.code,
                    bound=remedy.bound,
                    expected=remedy.expected,
                )
                self.command(command, "relaunch")

        self.push_screen(ProposeScreen(self.glyphs, self.live, finding, remedy), relaunch)

    def action_stop(self) -> None:
        """Ask, then stop the training."""
        if self.can_change():
            self.confirm("stop the training?", STOP_WORDS, StopCommand(command_id=new_command_id()), "stop")

    def confirm(self, title: str, words: str, command: Command, what: str) -> None:
        """Ask, and send the command on a yes."""

        def answered(yes: bool | None) -> None:
            if yes:
                self.command(command, what)

        self.push_screen(ConfirmScreen(self.glyphs, title, words, self.live), answered)
