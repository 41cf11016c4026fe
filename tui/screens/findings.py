"""All findings with their evidence and advice, and what could not be judged."""

from collections.abc import Sequence

from textual.binding import Binding

from perftui.ipc.findings import Finding
from perftui.tui.keys import FINDINGS
from perftui.tui.messages import ProposalAsked, TextCopied
from perftui.tui.renderables.finding_blocks import (
    finding_blocks,
    finding_key,
    finding_text,
    relaunch_command,
    unjudged_groups,
)
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.page import Block
from perftui.tui.screens.page_screen import PageScreen


class FindingsScreen(PageScreen):
    """One of them is chosen: what the keys do, they do with that one."""

    BINDINGS = FINDINGS

    def heading(self) -> Line:
        """Return how many there are."""
        number, others = len(self.state.findings), len(unjudged_groups(self.state))
        unjudged = f"  {others} not judged" if others else ""
        return line(Run("findings", "title"), Run(f" {number}{unjudged}", "dim"))

    def blocks(self, width: int) -> Sequence[Block]:
        """Return findings, then what could not be judged."""
        return finding_blocks(self.state, width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer no relaunch where nothing may be changed."""
        return not (action == "propose" and self.read_only)

    def key_words(self, binding: Binding) -> tuple[str, ...]:
        """Offer no relaunch, and no command for it, where the chosen finding proposes none."""
        finding = self._chosen()
        proposes = finding is not None and finding.remedy is not None and bool(finding.remedy.set)
        relaunches = proposes and not (self.state.replayed or self.state.ended)
        of_use = {"propose": relaunches, "copy-command": proposes, "copy": finding is not None}
        return super().key_words(binding) if of_use.get(binding.id or "", True) else ()

    def _chosen(self) -> Finding | None:
        return next((each for each in self.state.findings if finding_key(each) == self.page.key), None)

    def action_propose(self) -> None:
        """Ask whether to relaunch with what this finding proposes."""
        self.post_message(ProposalAsked(self._chosen()))

    def action_copy(self) -> None:
        """Copy the finding."""
        finding = self._chosen()
        text = finding_text(finding, self.state) if finding else None
        self.post_message(TextCopied(text, "finding"))

    def action_copy_command(self) -> None:
        """Copy the command that relaunches with its remedy."""
        finding = self._chosen()
        text = relaunch_command(finding, self.state) if finding else None
        self.post_message(TextCopied(text, "command"))
