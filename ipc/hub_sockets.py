"""The hub's two ROUTER sockets: ranks on one, dashboards and commands on the other.

Binding a Unix socket steals a live one (libzmq issue 2059), so the run's lock is taken first.
"""

import os
from dataclasses import dataclass
from typing import Literal, TypeAlias

import zmq

from perftui.ipc.codec import MAX_COMMAND_BYTES, MAX_RANK_FRAME_BYTES, encode
from perftui.ipc.dashboard_messages import ToDashboard
from perftui.ipc.errors import Refused
from perftui.ipc.hub_lock import take_hub_lock
from perftui.ipc.messages import ToRank
from perftui.ipc.places import RunPlaces

Side: TypeAlias = Literal["rank", "dashboard"]
QUEUED_FRAMES = 256
_READS_PER_POLL = 512


@dataclass(frozen=True)
class Arrival:
    """One frame as it came in."""

    side: Side
    peer: bytes
    frame: bytes
    uid: int | None = None
    """Of the process that sent it, as the kernel tells (SO_PEERCRED); None for ranks, which are not asked."""
    pid: int | None = None


def _credentials(frame: zmq.Frame) -> tuple[int | None, int | None]:
    """Return uid and pid of the process at the other end of a Unix socket; None where libzmq does not tell.

    It tells them as the end of the peer's address: `…:uid:gid:pid`.
    """
    try:
        told = str(frame.get("Peer-Address")).rsplit(":", 3)
        return int(told[-3]), int(told[-1])
    except (zmq.ZMQError, ValueError, IndexError):
        return None, None


class HubSockets:
    """Both sockets of one run's hub; used by one thread.

    Raises:
        Refused: another hub of this run lives.
    """

    def __init__(self, places: RunPlaces) -> None:
        lock = take_hub_lock(places.hub_lock)
        if lock is None:
            raise Refused(f"another hub of {places.run_id} is alive")
        self._lock = lock
        self._context = zmq.Context(io_threads=1)
        before = os.umask(0o077)
        try:
            self._ranks = self._bind(places.rank_socket, MAX_RANK_FRAME_BYTES, hand_over=True)
            self._dashboards = self._bind(places.dashboard_socket, MAX_COMMAND_BYTES, hand_over=False)
        finally:
            os.umask(before)
        self._poller = zmq.Poller()
        self._poller.register(self._ranks, zmq.POLLIN)
        self._poller.register(self._dashboards, zmq.POLLIN)

    def _bind(self, address: str, most_bytes: int, *, hand_over: bool) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, QUEUED_FRAMES)
        socket.setsockopt(zmq.RCVHWM, QUEUED_FRAMES)
        socket.setsockopt(zmq.MAXMSGSIZE, most_bytes)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        if hand_over:
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        socket.setsockopt(zmq.IPC_FILTER_UID, os.getuid())
        socket.bind(address)
        return socket

    def arrivals(self, timeout_ms: int) -> list[Arrival]:
        """Wait for frames, and return those at hand (at most 512 a socket)."""
        ready = dict(self._poller.poll(timeout_ms))
        found: list[Arrival] = []
        if self._ranks in ready:
            self._drain(self._ranks, "rank", found)
        if self._dashboards in ready:
            self._drain(self._dashboards, "dashboard", found)
        return found

    def _drain(self, socket: "zmq.Socket[bytes]", side: Side, found: list[Arrival]) -> None:
        for _ in range(_READS_PER_POLL):
            try:
                if side == "rank":
                    parts = socket.recv_multipart(zmq.NOBLOCK)
                    if len(parts) == 2:
                        found.append(Arrival(side, parts[0], parts[1]))
                    continue
                frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            if len(frames) == 2:
                uid, pid = _credentials(frames[1])
                found.append(Arrival(side, frames[0].bytes, frames[1].bytes, uid, pid))

    def to_rank(self, peer: bytes, message: ToRank) -> bool:
        """Send to one rank; False when it is gone or its queue is full."""
        return self._send(self._ranks, peer, encode(message))

    def to_dashboard(self, peer: bytes, message: ToDashboard) -> bool:
        """Send to one dashboard; False when it is gone or its queue is full."""
        return self._send(self._dashboards, peer, encode(message))

    def _send(self, socket: "zmq.Socket[bytes]", peer: bytes, frame: bytes) -> bool:
        try:
            socket.send_multipart([peer, frame], zmq.NOBLOCK)
        except zmq.ZMQError:  # Again: its queue is full; EHOSTUNREACH: it is gone
            return False
        return True

    def close(self) -> None:
        """Close both sockets and give the lock back."""
        self._ranks.close(0)
        self._dashboards.close(0)
        self._context.term()
        os.close(self._lock)
