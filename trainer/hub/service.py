"""The hub's loop: one thread owns both sockets, hears ranks, answers dashboards, and lets the run tick."""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator

from perftui.ipc.codec import decode_from_rank
from perftui.ipc.errors import PerftuiError, ProtocolError
from perftui.ipc.hub_sockets import Arrival, HubSockets
from perftui.ipc.messages import ToRank
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import write_bytes
from perftui.trainer.hub.allowance import OF_A_RANK, Allowance
from perftui.trainer.hub.command_audit import CommandAudit
from perftui.trainer.hub.joining import Joining
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.rank_intake import RankIntake
from perftui.trainer.hub.seats import remote_host
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.launch.host_plan import forget_key
from perftui.trainer.launch.pruning import keep_of, prune
from perftui.trainer.tuning.evidence import evidence_runs

_LOOP_MS = 50
_TICK_S = 0.02
"""A thousand ranks wake the loop a thousand times a second; what does not hang on a frame need not follow."""
_LAST_WORDS_S = 0.5
"""After the training's end its ranks' last frames may still be on their way."""
_LINGER_S = 3.0


class Stopped:
    """Set by SIGTERM and SIGINT."""

    def __init__(self) -> None:
        self.flag = False
        signal.signal(signal.SIGTERM, self._set)
        signal.signal(signal.SIGINT, self._set)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _set(self, _signum: int, _frame: object) -> None:
        self.flag = True


class HubService:
    """Serves one live run until it is over and nobody looks any more."""

    def __init__(self, places: RunPlaces, run: LiveRun) -> None:
        self._places = places
        self._run = run
        self._audit = CommandAudit(places.audit)
        self._server = DashboardServer(run, self._audit)
        plan = run.description.hosts
        self._joining = Joining(plan) if plan is not None else None
        self._allowance = Allowance(OF_A_RANK)
        self._refusals = self._server.refusals

    def serve(self, stopped: Stopped) -> None:
        """Run until the end."""
        with self._open_sockets() as sockets:
            intake = RankIntake(self._run, lambda peer, order: self._tell(sockets, peer, order))
            over_since: float | None = None
            idle_since = time.monotonic()
            summarised = analysing = False
            ticked = 0.0
            while not stopped.flag:
                arrivals = sockets.arrivals(_LOOP_MS)
                for arrival in arrivals:
                    if arrival.side == "rank":
                        self._hear(intake, arrival)
                for reply in self._server.take_all(arrivals):
                    self._reply(sockets, reply)
                self._link(sockets, intake)
                now = time.monotonic()
                if now - ticked < _TICK_S:
                    continue
                ticked = now
                notes = (intake.seats.message, self._refusals.message(now))
                self._run.seats_note = "; ".join(note for note in notes if note) or None
                for reply in self._run.tick():
                    self._reply(sockets, reply)
                self._send_outbox(sockets, intake)
                now = time.monotonic()
                over_since = (over_since or now) if self._run.over else None
                waits = (
                    over_since is not None and (hosts := self._run.other_hosts) is not None and hosts.waits
                )
                waited = over_since is not None and now - over_since > _LAST_WORDS_S and not waits
                if over_since and not summarised and (waited or self._run.all_said):
                    summarised, analysing = True, self._run.windows.open
                    self._write_summary()
                if analysing and not self._run.windows.open:  # what a window found has come since
                    analysing = False
                    self._write_summary()
                needed = self._run.busy or self._run.reads_output or waits or not summarised
                if needed or self._server.attached():
                    idle_since = now
                elif now - idle_since > _LINGER_S:
                    return

    @contextlib.contextmanager
    def _open_sockets(self) -> Iterator[HubSockets]:
        sockets = HubSockets(self._places)
        try:
            yield sockets
        finally:
            if self._run.over:
                self._write_summary()
            self._run.close()
            if self._run.other_hosts is not None:
                self._run.other_hosts.close()
            sockets.close()
            if self._run.over:  # nobody will ask here again
                forget_key(self._run.description.hosts, self._places)
                shutil.rmtree(self._places.runtime, ignore_errors=True)
                _prune()

    def _write_summary(self) -> None:
        # a full disk must not end the hub: the summary can still be asked for over the socket
        with contextlib.suppress(OSError):
            write_bytes(self._places.summary, self._run.summary_bytes())

    def _link(self, sockets: HubSockets, intake: RankIntake) -> None:
        """Hear the hubs of other hosts, if the run has any."""
        hosts = self._run.other_hosts
        if hosts is not None:
            hosts.turn()
        elif self._joining is not None:
            hosts = self._joining.opened(
                self._run, intake, self._server, lambda reply: self._reply(sockets, reply)
            )
            self._run.joining_note = self._joining.failure
            if hosts is not None:
                self._run.other_hosts = hosts
                sockets.watch(hosts.sockets)

    def _hear(self, intake: RankIntake, arrival: Arrival) -> None:
        now = time.monotonic()
        if not self._allowance.take(arrival.peer, len(arrival.frame), now):
            self._refusals.note("too many", now)
            return
        try:
            message = decode_from_rank(arrival.frame)
        except ProtocolError:
            self._refusals.note("unreadable", now)
            return
        if message.run_id != self._places.run_id:
            self._refusals.note("of another run", now)
            return
        intake.take(arrival.peer, message, self._run.now())

    def _reply(self, sockets: HubSockets, reply: Reply) -> None:
        self._audit.replied(reply)
        hosts = self._run.other_hosts
        if hosts is None or not hosts.reply(reply):
            sockets.to_dashboard(reply.peer, reply.message)

    def _tell(self, sockets: HubSockets, peer: bytes, order: ToRank) -> None:
        hosts = self._run.other_hosts
        if hosts is not None and remote_host(peer) is not None:
            hosts.to_rank(peer, order)
        else:
            sockets.to_rank(peer, order)

    def _send_outbox(self, sockets: HubSockets, intake: RankIntake) -> None:
        outbox, self._run.outbox = self._run.outbox, []
        for rank, order in outbox:
            peer = intake.seats.peer(rank)
            if peer is not None:
                self._tell(sockets, peer, order)


def _prune() -> None:
    """Keep what ended runs have left within its bound; the next hub does it where this one cannot."""
    with contextlib.suppress(PerftuiError, OSError):
        prune(keep_of(os.environ), evidence_runs)
