"""What the server needs of a run, be it live or a replay: the seam between both."""

from dataclasses import dataclass
from typing import Protocol

from perftui.ipc.dashboard_messages import Command, ToDashboard
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.view import ProfileView, RelaunchView
from perftui.trainer.hub.console import OutputTail
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.views import RunFacts


@dataclass(frozen=True)
class Reply:
    """A message for one dashboard."""

    peer: bytes
    message: ToDashboard


class ServedRun(Protocol):
    """A run that can be shown."""

    fold: RunFold
    output: OutputTail

    def now(self) -> float:
        """Return the unix time of the picture."""
        ...

    def facts(self) -> RunFacts:
        """Return what its files and processes say."""
        ...

    def findings(self) -> list[Finding]:
        """Return the findings in force."""
        ...

    def unjudged(self) -> list[Unjudged]:
        """Return what could not be judged, and why."""
        ...

    def marks(self, rank: int) -> list[str]:
        """Return the codes of findings that point at a rank."""
        ...

    def profiles(self) -> list[ProfileView]:
        """Return all profiling windows, newest last."""
        ...

    def links(self) -> list[HostLink]:
        """Return the run's hosts, the lead first; none where it has but one."""
        ...

    def relaunch(self) -> RelaunchView | None:
        """Return the relaunch that is going on or was the last."""
        ...

    def take(self, command: Command, peer: bytes) -> list[Reply]:
        """Carry out a command, or begin to."""
        ...
