"""A DEALER to the lead hub over TCP, under CURVE: the same for a host's hub and for a dashboard."""

import zmq

from perftui.ipc.codec import MAX_FRAME_BYTES
from perftui.ipc.heartbeats import HEARTBEATS
from perftui.ipc.host_addresses import HostPort, tcp_endpoint
from perftui.ipc.link_keys import PeerKeys

_CONNECT_MS = 1500
"""A host that is cut off does not answer at all: the system alone would wait minutes between two attempts."""
_RECONNECT_MS = 200
_RECONNECT_MOST_MS = 1000


def secured_dealer(
    context: "zmq.Context[zmq.Socket[bytes]]", at: HostPort, keys: PeerKeys, queued_frames: int
) -> "zmq.Socket[bytes]":
    """Return a socket that connects, and connects again, by itself."""
    socket = context.socket(zmq.DEALER)
    options = {
        zmq.LINGER: 0,
        zmq.SNDHWM: queued_frames,
        zmq.RCVHWM: queued_frames,
        zmq.MAXMSGSIZE: MAX_FRAME_BYTES,
        zmq.CONNECT_TIMEOUT: _CONNECT_MS,
        zmq.RECONNECT_IVL: _RECONNECT_MS,
        zmq.RECONNECT_IVL_MAX: _RECONNECT_MOST_MS,
        **HEARTBEATS,
        zmq.IPV6: 1,
    }
    for option, value in options.items():
        socket.setsockopt(option, value)
    socket.setsockopt(zmq.CURVE_SERVERKEY, keys.lead)
    socket.setsockopt(zmq.CURVE_SECRETKEY, keys.own.secret)
    socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.own.public)
    socket.connect(tcp_endpoint(at.host, at.port))
    return socket
