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
from perftui.ipc.messages import PROTOCOL_VERSION, AskHello, Hello, Welcome
from perftui.ipc.places import RunPlaces
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import write_bytes
from perftui.trainer.hub.allowance import OF_A_RANK, Allowance
from perftui.trainer.hub.command_audit import CommandAudit
from perftui.trainer.hub.file_limit import make_room
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.seats import Seats
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.launch.pruning import keep_of, prune
from perftui.trainer.tuning.evidence import evidence_runs

_LOOP_MS = 50
_TICK_S = 0.02
"""A thousand ranks wake the loop a thousand times a second; what does not hang on a frame need not follow."""
_LAST_WORDS_S = 0.5
"""After the training's end its ranks' last frames may still be on their way."""
_LINGER_S = 3.0
_ASK_AGAIN_S = 1.0
_ASKED_KEPT = 4096


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
        self._seats = Seats(run.lives, run.now)
        self._asked: dict[bytes, float] = {}
        self._allowance = Allowance(OF_A_RANK)
        self._refusals = self._server.refusals

    def serve(self, stopped: Stopped) -> None:
        """Run until the end."""
        with self._open_sockets() as sockets:
            over_since: float | None = None
            idle_since = time.monotonic()
            summarised = analysing = False
            ticked = 0.0
            while not stopped.flag:
                arrivals = sockets.arrivals(_LOOP_MS)
                for arrival in arrivals:
                    if arrival.side == "rank":
                        self._hear(sockets, arrival)
                for reply in self._server.take_all(arrivals):
                    self._tell(sockets, reply)
                now = time.monotonic()
                if now - ticked < _TICK_S:
                    continue
                ticked = now
                notes = (self._seats.message, self._refusals.message(now))
                self._run.seats_note = "; ".join(note for note in notes if note) or None
                for reply in self._run.tick():
                    self._tell(sockets, reply)
                self._send_outbox(sockets)
                now = time.monotonic()
                over_since = (over_since or now) if self._run.over else None
                waited = over_since is not None and now - over_since > _LAST_WORDS_S
                if over_since and not summarised and (waited or self._run.all_said):
                    summarised, analysing = True, self._run.windows.open
                    self._write_summary()
                if analysing and not self._run.windows.open:  # what a window found has come since
                    analysing = False
                    self._write_summary()
                if self._server.attached() or self._run.busy or not summarised:
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
            sockets.close()
            if self._run.over:  # nobody will ask here again
                shutil.rmtree(self._places.runtime, ignore_errors=True)
                _prune()

    def _write_summary(self) -> None:
        # a full disk must not end the hub: the summary can still be asked for over the socket
        with contextlib.suppress(OSError):
            write_bytes(self._places.summary, self._run.summary_bytes())

    def _tell(self, sockets: HubSockets, reply: Reply) -> None:
        self._audit.replied(reply)
        sockets.to_dashboard(reply.peer, reply.message)

    def _hear(self, sockets: HubSockets, arrival: Arrival) -> None:
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
        if isinstance(message, Hello):
            make_room(message.world_size)
            sockets.to_rank(arrival.peer, Welcome(protocol=PROTOCOL_VERSION, hub_pid=os.getpid()))
            message = self._run.by_own_clock(message)
        track = self._run.fold.ranks.get(message.rank)
        counts = self._seats.may_speak(arrival.peer, message, track)
        if counts and self._run.hear(Entry(unix=self._run.now(), message=message)):
            self._seats.note(arrival.peer, message, self._run.fold.ranks.get(message.rank))
        elif counts is not False:
            self._ask_hello(sockets, arrival.peer)

    def _ask_hello(self, sockets: HubSockets, peer: bytes) -> None:
        now = time.monotonic()
        if now - self._asked.get(peer, 0.0) >= _ASK_AGAIN_S:
            if len(self._asked) >= _ASKED_KEPT:
                self._asked.clear()
            self._asked[peer] = now
            sockets.to_rank(peer, AskHello())

    def _send_outbox(self, sockets: HubSockets) -> None:
        outbox, self._run.outbox = self._run.outbox, []
        for rank, message in outbox:
            peer = self._seats.peer(rank)
            if peer is not None:
                sockets.to_rank(peer, message)


def _prune() -> None:
    """Keep what ended runs have left within its bound; the next hub does it where this one cannot."""
    with contextlib.suppress(PerftuiError, OSError):
        prune(keep_of(os.environ), evidence_runs)
