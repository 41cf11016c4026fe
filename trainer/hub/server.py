"""Answers dashboards: one frame a pull, with all that is newer than what the dashboard has."""

import time
from collections.abc import Iterable, Iterator

import msgspec

from perftui.ipc.audit import Actor, actor_of
from perftui.ipc.codec import decode_from_dashboard
from perftui.ipc.dashboard_messages import (
    Answer,
    FromDashboard,
    LedgerQuery,
    Mismatch,
    Pull,
    StepsQuery,
    SummaryQuery,
    ToDashboard,
    Update,
)
from perftui.ipc.errors import ProtocolError
from perftui.ipc.findings import Unjudged
from perftui.ipc.hub_sockets import Arrival
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.view import LoaderWorkers, ProfileView, RankView, RunView
from perftui.trainer.hub.allowance import OF_A_COMMAND, Allowance
from perftui.trainer.hub.command_audit import CommandAudit
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.questions import answered
from perftui.trainer.hub.refusals import Refusals
from perftui.trainer.hub.served import Reply, ServedRun
from perftui.trainer.hub.views import header, host_views, phases_of, rank_view, workers_of
from perftui.trainer.tuning.price import price_of_leading

_PICTURE_S = 0.1
"""A picture this young is given again; pulls do not multiply the work."""
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
        self._ranks: dict[int, RankView] = {}
        self._facts_changed: dict[int, int] = {}
        """Update number at which the facts of a rank last changed."""
        self._profiles: dict[str, tuple[int, ProfileView]] = {}
        self._unjudged: tuple[int, list[Unjudged]] = (0, [])
        """With the update number at which they last changed."""
        self._picture_at = 0.0
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
        if isinstance(message, StepsQuery | LedgerQuery):
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
        number = self._increments.number
        if since is None:
            ranks = list(self._ranks.values())
            profiles = [view for _, view in self._profiles.values()]
        else:
            ranks = [self._news(view, since) for view in self._ranks.values() if view.changed > since]
            profiles = [view for changed, view in self._profiles.values() if changed > since]
        lines, last = self._run.output.since(pull.output_since if known else 0)
        top, findings = header(self._run.fold, self._run.facts(), self._run.now()), self._run.findings()
        view = RunView(
            header=top,
            ranks=ranks,
            gpus=self._run.fold.gpus,
            hosts=host_views(self._run.fold, self._run.now()),
            findings=findings,
            profiles=profiles,
            relaunch=self._run.relaunch(),
            trials_s=price_of_leading(top, list(self._ranks.values()), findings),
            links=self._run.links(),
        )
        return Update(
            number=number,
            snapshot=not known,
            view=view,
            history=self._increments.history(self._run.fold, since),
            marks=self._increments.marks(self._run.fold, since),
            output=lines,
            output_number=last,
            output_partial=self._run.output.partial,
            sent_unix=time.time(),
            unjudged=self._unjudged[1] if since is None or self._unjudged[0] > since else None,
        )

    def _news(self, view: RankView, since: int) -> RankView:
        """Return the view without the facts where the dashboard has them: they are the larger part."""
        told = self._facts_changed.get(view.rank, 0) <= since
        return msgspec.structs.replace(view, facts=None) if told else view

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._picture_at < _PICTURE_S:
            return
        if self._attempts != self._run.fold.attempts:  # a rank counts its steps from 0 again
            self._attempts = self._run.fold.attempts
            self.restart()
        self._picture_at = now
        number = self._increments.advance(self._run.fold)
        facts = self._run.facts()
        for track in self._run.fold.ordered:
            rank, at = track.hello.rank, self._run.now()
            workers = workers_of(self._run.fold, rank, at)
            phases = phases_of(self._run.fold, facts, track, at)
            fresh = rank_view(track, at, self._run.marks(rank), number, workers, phases)
            old = self._ranks.get(rank)
            if old is None or old.facts != fresh.facts:
                self._facts_changed[rank] = number
            if old is None or not _alike(old, fresh):
                self._ranks[rank] = fresh
        unjudged = self._run.unjudged()
        if unjudged != self._unjudged[1]:
            self._unjudged = (number, unjudged)
        for view in self._run.profiles():
            known = self._profiles.get(view.window_id)
            if known is None or known[1] != view:
                self._profiles[view.window_id] = (number, view)


def _alike(old: RankView, fresh: RankView) -> bool:
    """Return whether nothing worth sending differs; a silent rank's age counts, a lively one's not."""
    if old.state != fresh.state or old.steps != fresh.steps or old.marks != fresh.marks:
        return False
    if fresh.state == "silent" and int(old.age_s) != int(fresh.age_s):
        return False
    if _looked_at(old) != _looked_at(fresh) or _phase(old) != _phase(fresh):
        return False
    return (old.facts, old.loss, old.settings, old.dropped, old.probe_errors, old.settings_failed) == (
        fresh.facts,
        fresh.loss,
        fresh.settings,
        fresh.dropped,
        fresh.probe_errors,
        fresh.settings_failed,
    )


def _phase(view: RankView) -> tuple[str | None, int]:
    """Return its phase and the seconds that it goes on; of the training itself these are no news."""
    return view.phase, 0 if view.phase == "training" else int(view.phase_for_s or 0)


def _looked_at(view: RankView) -> LoaderWorkers | None:
    """Return its workers whatever the look's age."""
    return None if view.workers is None else msgspec.structs.replace(view.workers, age_s=0.0)


def _actor(arrival: Arrival) -> Actor:
    if arrival.origin is not None:
        return Actor(by=f"command over TCP from {arrival.origin}")
    return actor_of(arrival.uid, arrival.pid)
