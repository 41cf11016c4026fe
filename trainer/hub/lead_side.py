"""The lead hub's side of the link between hosts: takes in what other hosts' hubs bring, passes orders on.

What a peer may do is said by its key: a hub of the job brings telemetry, a dashboard looks, and commands only
where its key is for commands. Anything else is refused, or not answered at all.
"""

import os
import time
from collections.abc import Callable

import msgspec
import zmq

from perftui.ipc.codec import decode_from_host
from perftui.ipc.errors import ProtocolError
from perftui.ipc.host_checks import RANKS_OF_A_HOST
from perftui.ipc.host_links import HostEvent, HostLink
from perftui.ipc.host_messages import (
    AskHostHello,
    ForRank,
    HostBatch,
    HostBeat,
    HostHello,
    HostStacks,
    HostWelcome,
    LeadBeat,
    StopHost,
    ToHost,
    TracePart,
)
from perftui.ipc.lead_socket import LeadSocket, PeerFrame
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Hello, ToRank, WindowReport
from perftui.ipc.recording import Entry
from perftui.trainer.hub.allowance import OF_A_HOST, Allowance
from perftui.trainer.hub.joined_host import JoinedHost
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.rank_intake import RankIntake
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.remote_dashboards import RemoteDashboards
from perftui.trainer.hub.seats import remote_host, remote_peer
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.hub.trace_fetching import TraceFetching

LOST_S = 2.0
"""Nothing heard for so long, of a hub that beats twice a second."""
_HOSTS_MAX = 1024
_ASK_AGAIN_S = 0.5
_WAIT_AT_END_S = 5.0
_TOLD_S = 60.0


class LeadSide:
    """The lead's part in a run over several hosts.

    Args:
        socket: bound already.
        run: the run.
        intake: takes ranks' messages in.
        server: answers dashboards.
        tell: sends a dashboard's answer on its way.
    """

    def __init__(
        self,
        socket: LeadSocket,
        run: LiveRun,
        intake: RankIntake,
        server: DashboardServer,
        tell: Callable[[Reply], None],
    ) -> None:
        self._socket = socket
        self._run = run
        self._intake = intake
        self._dashboards = RemoteDashboards(socket, server)
        self._tell = tell
        self._allowance = Allowance(OF_A_HOST)
        self._refusals = server.refusals
        self._traces = TraceFetching(run.places.profiles, self._send_to, self._take_message)
        now = time.monotonic()
        self._hosts = {
            name: JoinedHost(
                name, state="left" if link.state == "left" else "lost", heard_s=now, joins=link.joins
            )
            for name, link in run.fold.links.items()
        }
        self._peers: dict[bytes, JoinedHost] = {}
        self._asked: dict[bytes, float] = {}
        self._over_s: float | None = None
        self._refused = 0
        self._refused_s = 0.0
        self.note: str | None = None

    @property
    def sockets(self) -> "list[zmq.Socket[bytes]]":
        """What the loop's poller must watch."""
        return self._socket.sockets

    @property
    def waits(self) -> bool:
        """Whether hosts that are heard have not yet told how their part ended; not for ever."""
        if not any(host.state == "joined" for host in self._hosts.values()):
            return False
        self._over_s = self._over_s or time.monotonic()
        return time.monotonic() - self._over_s < _WAIT_AT_END_S

    def turn(self) -> None:
        """Take in what has come, and notice who is not heard any more."""
        frames = self._socket.receive()
        for each in frames:
            if each.role == "host":
                self._take(each)
        for reply in self._dashboards.take_all(each for each in frames if each.role != "host"):
            self._tell(reply)
        self._traces.turn()
        now = time.monotonic()
        for host in self._hosts.values():
            if host.state == "joined" and now - host.heard_s > LOST_S:
                self._lose(host)
        self.note = self._news(now)

    def _take(self, frame: PeerFrame) -> None:
        now = time.monotonic()
        try:
            message = decode_from_host(frame.frame)
        except ProtocolError:
            self._refusals.note("unreadable", now)
            return
        answered = isinstance(message, TracePart)  # as many as were asked for
        if not answered and not self._allowance.take(frame.peer, len(frame.frame), now):
            self._refusals.note("too many", now)
        elif isinstance(message, HostHello):
            self._greet(frame, message)
        else:
            self._hear(frame, message)

    # Other hosts' hubs

    def _greet(self, frame: PeerFrame, hello: HostHello) -> None:
        host = self._host_of(hello)
        if host is None or hello.protocol != PROTOCOL_VERSION:
            return
        event, words = host.arrival(hello)
        if not host.is_process(hello):
            host.last, host.beat = 0, None
        heard_all_along = host.state == "joined" and host.is_process(hello)
        if host.peer is not None:
            self._peers.pop(host.peer, None)
        host.peer, host.hello, host.address = frame.peer, hello, frame.address
        host.pids = dict(hello.ranks)
        host.state, host.heard_s = "joined", time.monotonic()
        self._peers[frame.peer] = host
        self._set_lost(host, lost=False)
        self._socket.send(
            frame.peer,
            HostWelcome(
                protocol=PROTOCOL_VERSION,
                run_id=self._run.description.run_id,
                hub_pid=os.getpid(),
                name=host.name,
                last=host.last,
            ),
        )
        if not heard_all_along:  # else only the connection is a new one
            host.joins += 1
            self._note_event(host, event, words)

    def _host_of(self, hello: HostHello) -> JoinedHost | None:
        """Return the host that says hello: one that is known, or a new one under a name of its own."""
        for host in self._hosts.values():
            if host.hello is not None and host.hello.run_id == hello.run_id:
                return host
        name, number = hello.host, 2
        while self._is_taken(name):
            name, number = f"{hello.host} ({number})", number + 1
        known = self._hosts.get(name)
        if known is None and len(self._hosts) < _HOSTS_MAX:
            known = self._hosts[name] = JoinedHost(name)
        return known

    def _is_taken(self, name: str) -> bool:
        known = self._hosts.get(name)
        return name == self._run.description.host or (known is not None and known.state == "joined")

    def _hear(self, frame: PeerFrame, message: HostBatch | HostBeat | TracePart | HostStacks) -> None:
        host = self._peers.get(frame.peer)
        if host is None:
            self._ask_hello(frame.peer)
            return
        host.heard_s = time.monotonic()
        if host.state == "lost":
            host.state = "joined"
            host.joins += 1
            self._set_lost(host, lost=False)
            self._note_event(host, "back", f"host {host.name} is heard again")
        if isinstance(message, HostBeat):
            self._take_beat(host, message)
        elif isinstance(message, TracePart):
            self._traces.take(host, message)
        elif isinstance(message, HostStacks):
            self._run.windows.add_stacks(message.window_id, message.stacks, message.notes)
        elif isinstance(message, HostBatch) and message.number > host.last:
            host.last = message.number
            for entry in message.entries:
                self._take_entry(host, entry)

    def _ask_hello(self, peer: bytes) -> None:
        now = time.monotonic()
        self._asked = {each: at for each, at in self._asked.items() if now - at < _ASK_AGAIN_S}
        if peer not in self._asked and len(self._asked) < _HOSTS_MAX:
            self._asked[peer] = now
            self._socket.send(peer, AskHostHello())

    def _take_beat(self, host: JoinedHost, beat: HostBeat) -> None:
        received_ns = self._run.clock.unix_ns()
        host.beat = beat
        for rank in beat.gone:
            track = self._run.fold.ranks.get(rank)
            if track is not None and track.hello.host == host.name:
                track.gone = True
        if beat.left and host.state == "joined":
            self._leave(host, beat)
        answer = LeadBeat(
            asked_ns=beat.sent_ns, received_ns=received_ns, sent_ns=self._run.clock.unix_ns(), last=host.last
        )
        self._send_to(host, answer)

    def _take_entry(self, host: JoinedHost, entry: Entry) -> None:
        unix = entry.unix + host.offset_ns / 1e9
        if entry.message is not None:
            if not self._traces.holds(host, entry.message, unix):
                self._take_message(host, entry.message, unix)
            return
        hosts = [msgspec.structs.replace(view, name=host.name) for view in entry.hosts[:1]]
        gpus = [msgspec.structs.replace(view, host=host.name) for view in entry.gpus]
        self._run.hear_host(Entry(unix=unix, hosts=hosts, gpus=gpus))

    def _take_message(self, host: JoinedHost, message: FromRank, unix: float) -> None:
        message = msgspec.structs.replace(message, run_id=self._run.description.run_id, host=host.name)
        track = self._run.fold.ranks.get(message.rank)
        if track is not None and _is_known(track, message):
            if not isinstance(message, WindowReport):
                return  # brought once more: this hub had ended before it could say that it has it
            message = msgspec.structs.replace(message, seq=track.next_seq - 1)  # its trace was waited for
        if isinstance(message, Hello):
            if len(host.pids) >= RANKS_OF_A_HOST and message.rank not in host.pids:
                return
            host.pids[message.rank] = message.pid
            offset_ns = message.wall_offset_ns + host.offset_ns
            message = msgspec.structs.replace(message, wall_offset_ns=offset_ns)
        peer = remote_peer(host.name, message.rank, host.pids.get(message.rank, 0))
        self._intake.take(peer, message, unix)

    # Losing and leaving

    def _lose(self, host: JoinedHost) -> None:
        host.state = "lost"
        self._set_lost(host, lost=True)
        self._note_event(host, "lost", f"host {host.name} is not heard; its training may well go on")

    def _leave(self, host: JoinedHost, beat: HostBeat) -> None:
        host.state = "left"
        for track in self._run.fold.ordered:
            if track.hello.host == host.name and not track.ended:
                track.gone = True
        how = "" if beat.exit_code is None else f", exit code {beat.exit_code}"
        self._note_event(host, "left", f"host {host.name} has left{how}")

    def _set_lost(self, host: JoinedHost, *, lost: bool) -> None:
        for track in self._run.fold.ordered:
            if track.hello.host == host.name:
                track.host_lost = lost

    def _note_event(self, host: JoinedHost, event: str, words: str) -> None:
        happened = msgspec.convert(
            {"unix": self._run.now(), "host": host.name, "event": event, "text": words}, HostEvent
        )
        self._run.hear_host(Entry(unix=happened.unix, host_events=[happened]))

    def _news(self, now: float) -> str | None:
        lost = [host for host in self._hosts.values() if host.state == "lost"]
        if lost and not self._run.over:
            longest = max(lost, key=lambda host: now - host.heard_s)
            who = longest.name if len(lost) == 1 else f"{longest.name} and {len(lost) - 1} more"
            return (
                f"host {who} not heard for {now - longest.heard_s:.0f} s; the training may well go on there"
            )
        check = self._socket.check
        if check.refused != self._refused:
            self._refused, self._refused_s = check.refused, now
        if self._refused and now - self._refused_s < _TOLD_S:
            return (
                f"{self._refused} connections without a key of this run, the last from {check.last_refused}"
            )
        return None

    # What the run needs

    def heard(self, entry: Entry) -> None:
        """Nothing to do: what the lead hears is where it belongs."""

    def links(self) -> list[HostLink]:
        """Return the run's hosts as they stand, the lead first."""
        now, own = time.monotonic(), self._run.description.host
        ranks = [track.hello.rank for track in self._run.fold.ordered if track.hello.host == own]
        lead = HostLink(host=own, state="lead", age_s=0.0, ranks=ranks, run_id=self._run.description.run_id)
        return [lead, *(self._hosts[name].link(now) for name in sorted(self._hosts))]

    def stop(self, stopped_by: str) -> None:
        """Have the other hosts stop their parts of the training."""
        for host in self._hosts.values():
            if host.state == "joined":
                self._send_to(host, StopHost(stopped_by=stopped_by))

    def to_rank(self, peer: bytes, order: ToRank) -> None:
        """Send an order to a rank of another host."""
        host = self._hosts.get(remote_host(peer) or "")
        rank, _, _ = peer.rpartition(b"/r")[2].partition(b".")
        if host is not None:
            self._send_to(host, ForRank(rank=int(rank), order=order))

    def _send_to(self, host: JoinedHost, message: ToHost) -> None:
        if host.peer is not None:
            self._socket.send(host.peer, message)

    def reply(self, reply: Reply) -> bool:
        """Send it, where it is for a dashboard that came over TCP."""
        return self._dashboards.reply(reply)

    def close(self) -> None:
        """Close at once."""
        self._traces.close()
        self._socket.close()


def _is_known(track: RankTrack, message: FromRank) -> bool:
    """Tell whether this message of a rank's process has been taken in, or one after it."""
    if isinstance(message, Hello) and (message.pid, message.start_ticks) != (
        track.hello.pid,
        track.hello.start_ticks,
    ):
        return False
    return track.hello.host == message.host and message.seq < track.next_seq
