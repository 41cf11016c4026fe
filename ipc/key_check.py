"""Answers ZeroMQ's question who may connect (ZAP, https://rfc.zeromq.org/spec/27): holders of the run's keys.

Asked once a connection, in the thread that owns the sockets. A connection that is not answered, or answered
with no, exchanges nothing but the handshake.
"""

from collections.abc import Mapping

import zmq

from perftui.ipc.link_keys import Role

ZAP_DOMAIN = b"perftui"
_ENDPOINT = "inproc://zeromq.zap.01"
_VERSION = b"1.0"
_PARTS = 7
_AT_ONCE = 64


class KeyCheck:
    """Tells by its public key what a peer may do; each frame that it sends then bears that as `User-Id`.

    Args:
        context: whose sockets ask; nothing else may answer there.
        roles: public key (32 bytes) → role.
    """

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", roles: Mapping[bytes, Role]) -> None:
        self._roles = roles
        self.socket = context.socket(zmq.REP)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(_ENDPOINT)
        self.refused = 0
        """Connections that had no key of this run."""
        self.last_refused: str | None = None
        """From where the newest of them came."""

    def answer(self) -> None:
        """Answer what is asked at this moment."""
        for _ in range(_AT_ONCE):
            try:
                parts = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            role = self._role_of(parts)
            if role is None:
                self.refused += 1
                self.last_refused = parts[3].decode("ascii", "replace")[:64] if len(parts) > 3 else None
                status, text, user = b"400", b"no key of this run", b""
            else:
                status, text, user = b"200", b"OK", role.encode()
            request = parts[1] if len(parts) > 1 else b""
            self.socket.send_multipart([_VERSION, request, status, text, user, b""], zmq.NOBLOCK)

    def _role_of(self, parts: list[bytes]) -> Role | None:
        if len(parts) != _PARTS or parts[0] != _VERSION or parts[2] != ZAP_DOMAIN or parts[5] != b"CURVE":
            return None
        return self._roles.get(parts[6])
