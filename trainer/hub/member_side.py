"""The side of a hub that has joined a lead: brings the lead what it hears, and hands the lead's orders down.

The lead may order profiling windows of this host's ranks, ask for their traces, and have this host's part of
the training stopped; nothing else is taken from it. Without the lead everything here goes on, and what could
not be brought is kept for it, within bounds.
"""

import contextlib
import os
import time

import msgspec
import zmq

from perftui.ipc.audit import Actor, note
from perftui.ipc.clock_offset import OffsetEstimate
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.host_links import HostLink
from perftui.ipc.host_messages import (
    AskHostHello,
    AskTrace,
    ForRank,
    HostBeat,
    HostHello,
    HostStacks,
    HostWelcome,
    LeadBeat,
    StopHost,
    ToHost,
)
from perftui.ipc.member_socket import MemberSocket
from perftui.ipc.messages import PROTOCOL_VERSION, ArmWindow, AskHello, CancelWindow, ToRank
from perftui.ipc.recording import Entry
from perftui.ipc.units import MIB
from perftui.trainer.hub.forward_queue import ForwardQueue
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.trace_giving import trace_part

_BEAT_S = 0.5
_FIRST_BEAT_S = 0.1
"""While the clocks are compared for the first times."""
_FIRST_BEATS = 8
_SILENT_S = 2.0
_HELLO_AGAIN_S = 1.0
_BRING_S = 0.1
"""The loop wakes at each frame of a rank: a batch for each would be as many as there are frames."""
_LEAVE_S = 3.0
"""At the end without anything taken; while the lead takes what was kept, `_LEAVE_MOST_S`."""
_LEAVE_MOST_S = 30.0


class MemberSide:
    """This hub's part as one of several.

    Args:
        socket: to the lead.
        lead: where that is, for words.
        run: this host's part of the run.
    """

    def __init__(self, socket: MemberSocket, lead: HostPort, run: LiveRun) -> None:
        self._socket = socket
        self._lead = lead
        self._run = run
        self._queue = ForwardQueue()
        self._offset = OffsetEstimate()
        self._offset_told = False
        self._welcome: HostWelcome | None = None
        self._welcomed = False
        self._hello_s = 0.0
        self._beats = 0
        self._beat_s = 0.0
        self._heard_s = time.monotonic()
        self._left_ns: int | None = None
        """When the beat left that tells of the end."""
        self._left_told = False
        self._over_s: float | None = None
        self._brought_s = float("-inf")
        self._taken_s = float("-inf")
        """When the lead last said that it has more than before."""
        self._asked_s = float("-inf")
        """When the lead last asked for a trace."""

    @property
    def sockets(self) -> "list[zmq.Socket[bytes]]":
        """What the loop's poller must watch."""
        return [self._socket.socket]

    @property
    def waits(self) -> bool:
        """Whether the lead has not yet been told all; not for ever."""
        now = time.monotonic()
        self._over_s = self._over_s or now
        brings = now - max(self._over_s, self._taken_s) < _LEAVE_S and now - self._over_s < _LEAVE_MOST_S
        return (not self._left_told and brings) or now - self._asked_s < _LEAVE_S

    @property
    def note(self) -> str | None:
        """One line of news."""
        silent_s = time.monotonic() - self._heard_s
        if silent_s > _SILENT_S:
            kept = f"{self._queue.kept / MIB:.1f} MiB kept for it"
            lost = f", {self._queue.dropped} entries dropped" if self._queue.dropped else ""
            return f"the lead hub at {self._lead} is not heard for {silent_s:.0f} s; {kept}{lost}"
        if self._welcome is None:
            return None
        return f"part of {self._welcome.run_id}, which has its hosts together at {self._lead}"

    def turn(self) -> None:
        """Hear the lead, tell that this hub lives, and bring what has come since."""
        for message in self._socket.receive():
            self._heard_s = time.monotonic()
            self._take(message)
        now = time.monotonic()
        if not self._welcomed and now - self._hello_s >= _HELLO_AGAIN_S:
            self._greet(now)
        if now - self._beat_s >= (_FIRST_BEAT_S if self._beats < _FIRST_BEATS else _BEAT_S):
            self._beat(now)
        for window_id, stacks, notes in self._run.windows.stacks_for_lead():
            self._socket.send(HostStacks(window_id=window_id, stacks=stacks, notes=notes))
        if self._welcomed and self._offset_told and now - self._brought_s >= _BRING_S:
            self._bring(now)

    def _bring(self, now: float) -> None:
        self._brought_s = now
        self._queue.pack()
        sent = 0
        for frame in self._queue.due():
            if not self._socket.send_frame(frame):
                break
            sent += 1
        self._queue.sent(sent)

    def _greet(self, now: float) -> None:
        self._hello_s = now
        ranks = [(t.hello.rank, t.hello.pid) for t in self._run.fold.ordered if not (t.ended or t.gone)]
        self._socket.send(
            HostHello(
                protocol=PROTOCOL_VERSION,
                host=self._run.description.host,
                run_id=self._run.description.run_id,
                hub_pid=os.getpid(),
                ranks=ranks,
            )
        )

    def _beat(self, now: float) -> None:
        known = self._offset.best(time.monotonic_ns())
        left = self._run.over and self._queue.empty and (self._run.all_said or self.waits)
        sent_ns = self._run.clock.unix_ns()
        beat = HostBeat(
            sent_ns=sent_ns,
            gone=[track.hello.rank for track in self._run.fold.ordered if track.gone and not track.ended],
            offset_ns=known.offset_ns if known else None,
            error_ns=known.error_ns if known else None,
            round_trip_ns=known.round_trip_ns if known else None,
            left=left,
            exit_code=self._run.ended.exit_code if self._run.ended else None,
            dropped=self._queue.dropped,
        )
        if self._socket.send(beat):
            self._beats += self._welcomed
            self._beat_s = now
            self._offset_told |= known is not None
            if left and self._left_ns is None:
                self._left_ns = sent_ns

    def _take(self, message: ToHost) -> None:
        if isinstance(message, HostWelcome):
            self._welcome, self._welcomed = message, True
            self._queue.taken(message.last)
            self._queue.again()
        elif isinstance(message, AskHostHello):
            # the lead may be a new process, which has not heard how our clock stands to its own: it must be
            # told before it takes anything in
            self._welcomed = self._offset_told = False
            self._hello_s = self._beat_s = 0.0
        elif isinstance(message, LeadBeat):
            self._take_answer(message)
        elif isinstance(message, ForRank):
            self._pass_on(message)
        elif isinstance(message, AskTrace):
            self._asked_s = time.monotonic()
            self._socket.send(trace_part(message, self._run.fold, self._run.places.profiles))
        elif isinstance(message, StopHost):
            self._stop(message)

    def _stop(self, message: StopHost) -> None:
        if self._run.description.owned and not self._run.over:
            with contextlib.suppress(OSError):  # a full disk: the lead may ask again
                self._run.request_stop(message.stopped_by)
                lead = Actor(by=f"the lead hub at {self._lead}")
                note(self._run.places.audit, lead, "stop", "accepted", told=message.stopped_by[:80])

    def _take_answer(self, beat: LeadBeat) -> None:
        self._offset.add(
            beat.asked_ns, beat.received_ns, beat.sent_ns, self._run.clock.unix_ns(), time.monotonic_ns()
        )
        kept = self._queue.kept
        self._queue.taken(beat.last)
        if self._queue.kept < kept:
            self._taken_s = time.monotonic()
        self._left_told |= self._left_ns is not None and beat.asked_ns >= self._left_ns

    def _pass_on(self, message: ForRank) -> None:
        order = message.order
        if isinstance(order, ArmWindow):
            self._run.windows.analysed_elsewhere(order.window_id)
            order = msgspec.structs.replace(order, directory=str(self._run.places.profiles))
        if isinstance(order, ArmWindow | CancelWindow | AskHello):
            self._run.outbox.append((message.rank, order))

    def heard(self, entry: Entry) -> None:
        """Bring this to the lead."""
        self._queue.add(entry)

    def links(self) -> list[HostLink]:
        """Return nothing: the lead knows them."""
        return []

    def stop(self, stopped_by: str) -> None:
        """Do nothing: this host's part alone is stopped from here."""

    def to_rank(self, peer: bytes, order: ToRank) -> None:
        """Do nothing: all ranks known here are on this host."""

    def reply(self, reply: Reply) -> bool:  # noqa: ARG002 - of the protocol
        """Return False: no dashboard comes this way."""
        return False

    def close(self) -> None:
        """Close at once."""
        self._socket.close()
