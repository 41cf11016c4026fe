"""Answers dashboards: one frame a pull, with all that is newer than what the dashboard has."""

import time
from collections.abc import Iterable, Iterator

from perftui.ipc.audit import Actor, actor_of
from perftui.ipc.codec import decode_from_dashboard
from perftui.ipc.dashboard_messages import (
    MANY_RANKS,
    Answer,
    FromDashboard,
    LedgerQuery,
    Mismatch,
    Pull,
    RanksQuery,
    SearchQuery,
    StepsQuery,
    SummaryQuery,
    ToDashboard,
    Update,
)
from perftui.ipc.errors import ProtocolError
from perftui.ipc.findings import Unjudged
from perftui.ipc.hub_sockets import Arrival
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.view import ProfileView, RunView
from perftui.trainer.hub.allowance import OF_A_COMMAND, Allowance
from perftui.trainer.hub.command_audit import CommandAudit
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.nearness import GpuReadings, HostReadings, Near
from perftui.trainer.hub.questions import answered
from perftui.trainer.hub.rank_views import RankViews
from perftui.trainer.hub.refusals import Refusals
from perftui.trainer.hub.served import Reply, ServedRun
from perftui.trainer.hub.views import header, host_views
from perftui.trainer.tuning.price import price_of_leading

_PICTURE_S = 0.1
"""A picture this young is given again; pulls do not multiply the work."""
_PICTURE_COSTS = 3.0
"""So is one that is younger than so many times what it takes to make one."""
_ATTACHED_S = 3.0


class DashboardServer:
    """Serves any number of dashboards from one run.

    Args:
        run: what is served.
        audit: told of every command; None: nothing can be changed here.
    """

    def __init__(self, run: ServedRun, audit: CommandAudit | None = None) -> None:
        self._run = run
        self._audit = audit
        self._allowance = Allowance(OF_A_COMMAND)
        self.refusals = Refusals()
        self._increments = Increments()
        self._ranks = RankViews(run)
        self._gpus = GpuReadings()
        self._hosts = HostReadings()
        self._profiles: dict[str, tuple[int, ProfileView]] = {}
        self._unjudged: tuple[int, list[Unjudged]] = (0, [])
        """With the update number at which they last changed."""
        self._picture_at = 0.0
        self._picture_cost_s = 0.0
        self._attempts = run.fold.attempts
        self._last_pulls: dict[bytes, float] = {}

    def attached(self) -> int:
        """Return how many dashboards have pulled lately."""
        now = time.monotonic()
        self._last_pulls = {p: t for p, t in self._last_pulls.items() if now - t < _ATTACHED_S}
        return len(self._last_pulls)

    def restart(self) -> None:
        """Forget what dashboards have: the next pull of each gets a snapshot (after a seek)."""
        self._increments = Increments(after=self._increments.number)
        self._ranks.clear()
        self._profiles.clear()
        self._picture_at = 0.0

    def take(self, peer: bytes, frame: bytes) -> list[Reply]:
        """Answer one frame of a dashboard."""
        return list(self.take_all([Arrival("dashboard", peer, frame)]))

    def take_all(self, arrivals: Iterable[Arrival]) -> Iterator[Reply]:
        """Answer what dashboards have sent; several pulls of one that came together are one."""
        read = [(each, self._read(each)) for each in arrivals if each.side == "dashboard"]
        newest = {each.peer: at for at, (each, message) in enumerate(read) if isinstance(message, Pull)}
        for at, (arrival, message) in enumerate(read):
            if message is None:
                yield Reply(arrival.peer, Mismatch(hub_protocol=PROTOCOL_VERSION, your_protocol=-1))
            elif not isinstance(message, Pull) or newest[arrival.peer] == at:
                yield from self._answer(arrival, message)

    def _read(self, arrival: Arrival) -> FromDashboard | None:
        try:
            return decode_from_dashboard(arrival.frame)
        except ProtocolError:
            self.refusals.note("unreadable", time.monotonic())
            return None

    def _answer(self, arrival: Arrival, message: FromDashboard) -> list[Reply]:
        if isinstance(message, Pull):
            return self._pulled(arrival.peer, message)
        peer, now = arrival.peer, time.monotonic()
        if not self._allowance.take(peer, len(arrival.frame), now):
            self.refusals.note("too many", now)
            reason = f"more than {OF_A_COMMAND.frames_per_s:.0f} commands a second"
            return [Reply(peer, Answer(command_id=message.command_id, accepted=False, reason=reason))]
        if arrival.denied is not None and isinstance(message, LedgerQuery | SearchQuery):
            # they tell of all trainings of this user, not of this run alone
            return [Reply(peer, Answer(command_id=message.command_id, accepted=False, reason=arrival.denied))]
        if isinstance(message, StepsQuery | RanksQuery | LedgerQuery | SearchQuery):
            return answered(message, self._run.fold, peer)
        if self._audit is not None:
            self._audit.asked(message, peer, _actor(arrival))
        if arrival.denied is not None and not isinstance(message, SummaryQuery):
            return [Reply(peer, Answer(command_id=message.command_id, accepted=False, reason=arrival.denied))]
        return self._run.take(message, peer)

    def _pulled(self, peer: bytes, message: Pull) -> list[Reply]:
        if message.protocol != PROTOCOL_VERSION:
            mismatch = Mismatch(hub_protocol=PROTOCOL_VERSION, your_protocol=message.protocol)
            return [Reply(peer, mismatch)]
        self._last_pulls[peer] = time.monotonic()
        return [Reply(peer, self._update(message))]

    def _update(self, pull: Pull) -> ToDashboard:
        self._refresh()
        known = self._increments.is_known(pull.since)
        since = pull.since if known else None
        number, many = self._increments.number, self._ranks.many
        near = Near(frozenset(pull.closer[:MANY_RANKS]), anew=pull.anew or since is None) if many else None
        lines, last = self._run.output.since(pull.output_since if known else 0)
        top, findings = header(self._run.fold, self._run.facts(), self._run.now()), self._run.findings()
        view = RunView(
            header=top,
            ranks=self._ranks.told(since, near),
            gpus=self._gpus.told(since if many else None),
            hosts=self._hosts.told(since if many else None, near),
            findings=findings,
            profiles=[view for changed, view in self._profiles.values() if since is None or changed > since],
            relaunch=self._run.relaunch(),
            trials_s=price_of_leading(top, self._ranks.all(), findings),
            together=self._ranks.together,
            links=self._run.links(),
        )
        return Update(
            number=number,
            snapshot=not known,
            view=view,
            history=self._increments.history(self._run.fold, since, near),
            marks=self._increments.marks(self._run.fold, since, near),
            output=lines,
            output_number=last,
            output_partial=self._run.output.partial,
            sent_unix=self._run.now(),
            unjudged=self._unjudged[1] if since is None or self._unjudged[0] > since else None,
            closer=sorted(near.ranks) if near is not None else [],
            anew=near is not None and near.anew,
        )

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._picture_at < max(_PICTURE_S, _PICTURE_COSTS * self._picture_cost_s):
            return
        if self._attempts != self._run.fold.attempts:  # a rank counts its steps from 0 again
            self._attempts = self._run.fold.attempts
            self.restart()
        self._picture_at = now
        number = self._increments.advance(self._run.fold)
        self._ranks.refresh(number)
        self._gpus.refresh(self._run.fold.gpus, number)
        self._hosts.refresh(host_views(self._run.fold, self._run.now()), number)
        unjudged = self._run.unjudged()
        if unjudged != self._unjudged[1]:
            self._unjudged = (number, unjudged)
        for view in self._run.profiles():
            known = self._profiles.get(view.window_id)
            if known is None or known[1] != view:
                self._profiles[view.window_id] = (number, view)
        self._picture_cost_s = time.monotonic() - now


def _actor(arrival: Arrival) -> Actor:
    if arrival.origin is not None:
        return Actor(by=f"command over TCP from {arrival.origin}")
    return actor_of(arrival.uid, arrival.pid)
