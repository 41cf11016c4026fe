"""A simulated run of many ranks, played to a dashboard server."""

from pathlib import Path

import msgspec

from benchmarks.simulator.job import Job
from benchmarks.simulator.recordings import entries_of
from perftui.ipc.codec import decode_to_dashboard, encode
from perftui.ipc.dashboard_messages import Pull, Update
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.run_files import RunDescription
from perftui.ipc.view import ProfileView, RankView
from perftui.trainer.hub.console import OutputTail
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.hub.views import RunFacts

UNIX = 1_000_000.0


class PlayedRun:
    """Entries of a simulation, folded as far as it is played."""

    def __init__(self, job: Job, seconds: float, folder: Path) -> None:
        job = msgspec.structs.replace(job, began_ns=int(UNIX * 1e9))
        self.entries = list(entries_of(job, seconds))
        self.fold = RunFold()
        self.output = OutputTail(folder / "console.log")
        self._now = UNIX

    def play(self, seconds: float) -> None:
        self._now = UNIX + seconds
        while self.entries and self.entries[0].unix <= self._now + 1e-6:
            self.fold.apply(self.entries.pop(0))

    def now(self) -> float:
        return self._now

    def facts(self) -> RunFacts:
        description = RunDescription(
            run_id="many", name="many", command=[], cwd="/", host="node000", started_unix=UNIX, owned=False
        )
        return RunFacts(description=description, ended=None, stopping=False, lost=False)

    def findings(self) -> list[Finding]:
        return []

    def unjudged(self) -> list[Unjudged]:
        return []

    def marks(self, _rank: int) -> list[str]:
        return []

    def profiles(self) -> list[ProfileView]:
        return []

    def relaunch(self) -> None:
        return None

    def links(self) -> list[HostLink]:
        return []

    def take(self, command: object, peer: bytes) -> list[object]:
        raise NotImplementedError


def pull(server: DashboardServer, since: int, closer: tuple[int, ...] = (), *, anew: bool = False) -> Update:
    asked = Pull(protocol=PROTOCOL_VERSION, since=since, closer=list(closer), anew=anew)
    (reply,) = server.take(b"peer", encode(asked))
    told = decode_to_dashboard(encode(reply.message))
    assert isinstance(told, Update)
    return told


def by_rank(update: Update) -> dict[int, RankView]:
    return {view.rank: view for view in update.view.ranks}
