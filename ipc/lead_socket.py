"""The lead hub's only TCP socket: other hosts' hubs and dashboards, under CURVE, at one address."""

from dataclasses import dataclass

import zmq

from perftui.ipc.codec import MAX_FRAME_BYTES, encode
from perftui.ipc.dashboard_messages import ToDashboard
from perftui.ipc.errors import Refused
from perftui.ipc.heartbeats import HEARTBEATS
from perftui.ipc.host_addresses import tcp_endpoint
from perftui.ipc.host_messages import ToHost
from perftui.ipc.key_check import ZAP_DOMAIN, KeyCheck
from perftui.ipc.link_keys import ROLES, LeadKeys, Role

QUEUED_FRAMES = 64
"""For each peer and direction; a batch of another host may have some hundred kilobytes."""
_HANDSHAKE_MS = 3000
_BACKLOG = 256
_READS_PER_TURN = 256


@dataclass(frozen=True)
class PeerFrame:
    """One frame, with what its sender may do, as its key says."""

    peer: bytes
    role: Role
    address: str
    frame: bytes


class LeadSocket:
    """A ROUTER under CURVE; used by one thread.

    A context of its own, so that its ZAP handler answers for nothing else.

    Raises:
        Refused: nothing can listen at that address.
    """

    def __init__(self, address: str, port: int, keys: LeadKeys) -> None:
        self._context = zmq.Context(io_threads=1)
        self.check = KeyCheck(self._context, keys.roles)
        self._socket = self._context.socket(zmq.ROUTER)
        options = {
            zmq.LINGER: 0,
            zmq.SNDHWM: QUEUED_FRAMES,
            zmq.RCVHWM: QUEUED_FRAMES,
            zmq.MAXMSGSIZE: MAX_FRAME_BYTES,
            zmq.ROUTER_MANDATORY: 1,
            **HEARTBEATS,
            zmq.HANDSHAKE_IVL: _HANDSHAKE_MS,
            zmq.BACKLOG: _BACKLOG,
            zmq.IPV6: int(":" in address),
            zmq.CURVE_SERVER: 1,
            zmq.ZAP_ENFORCE_DOMAIN: 1,  # without an answer nobody comes in
        }
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        self._socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
        self._socket.setsockopt(zmq.CURVE_SECRETKEY, keys.own.secret)
        self._socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.own.public)
        try:
            self._socket.bind(tcp_endpoint(address, port))
        except zmq.ZMQError as error:
            self.close()
            raise Refused(f"{tcp_endpoint(address, port)}: {error.strerror}") from error

    @property
    def sockets(self) -> "list[zmq.Socket[bytes]]":
        """What a poller must watch."""
        return [self._socket, self.check.socket]

    def receive(self) -> list[PeerFrame]:
        """Answer who asks to come in, and return the frames at hand (at most 256)."""
        self.check.answer()
        found: list[PeerFrame] = []
        for _ in range(_READS_PER_TURN):
            try:
                parts = self._socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                break
            role = _role_of(parts[-1])
            if len(parts) == 2 and role is not None:
                address = str(parts[1].get("Peer-Address"))
                found.append(PeerFrame(parts[0].bytes, role, address, parts[1].bytes))
        return found

    def send(self, peer: bytes, message: ToHost | ToDashboard) -> bool:
        """Send to one peer; False when it is gone or its queue is full."""
        try:
            self._socket.send_multipart([peer, encode(message)], zmq.NOBLOCK)
        except zmq.ZMQError:  # Again: its queue is full; EHOSTUNREACH: it is gone
            return False
        return True

    def close(self) -> None:
        """Close at once."""
        self._socket.close(0)
        self.check.socket.close(0)
        self._context.term()


def _role_of(frame: zmq.Frame) -> Role | None:
    """Return what the key check said of the connection that a frame came by."""
    try:
        user = frame.get("User-Id")
    except zmq.ZMQError:
        return None
    return next((role for role in ROLES if role == user), None)
