"""What the dashboard says of keys that do nothing here, and of how one leaves."""

from collections.abc import Mapping

from textual.actions import ActionParseResult
from textual.dom import DOMNode

from perftui.tui.time_app import TimeApp

_NOTHING_THERE = {
    "close_relaunch": "there is no relaunch to close",
    "end_profile": "no profiling window is open",
}
CHANGING = ("profile", "choose_profile", "end_profile", "relaunch", "stop")
"""Actions that a read-only dashboard has none of."""


class ExplainingApp(TimeApp):
    """An app in which no key does nothing without a word."""

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do what a key is for; where there is nothing to do it to, say so."""
        done = await super().run_action(action, default_namespace, namespaces)
        if not done and isinstance(action, str):
            self._tell_why_not(action.removeprefix("app."))
        return done

    def _tell_why_not(self, action: str) -> None:
        if self.read_only and action in CHANGING:
            self.can_change()
        elif action in _NOTHING_THERE:
            self.notify(_NOTHING_THERE[action], markup=False)

    def leaving_words(self) -> str:
        """Say how one leaves, and how the training is stopped."""
        leaves = f"{self.key_names['detach']} on the overview leaves"
        if self.live.replayed or self.live.ended:
            return leaves
        stops = "" if self.read_only else f"; {self.key_names['stop']} stops it"
        return f"{leaves}, and the training goes on{stops}"
