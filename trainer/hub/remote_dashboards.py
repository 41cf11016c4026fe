"""Dashboards that come to the lead over TCP: whoever holds a key may look, commands need a key for them."""

from collections.abc import Iterable

from perftui.ipc.hub_sockets import Arrival
from perftui.ipc.lead_socket import LeadSocket, PeerFrame
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer

_PREFIX = b"tcp:"
"""Keeps the names that two sockets give to their peers apart."""
_REASON = "this key may only look; commands need the job's key or a command key"


class RemoteDashboards:
    """Passes what a key allows to the same server that answers on the Unix socket."""

    def __init__(self, socket: LeadSocket, server: DashboardServer) -> None:
        self._socket = socket
        self._server = server

    def take_all(self, frames: Iterable[PeerFrame]) -> list[Reply]:
        """Return the answers to what dashboards have sent."""
        arrivals = [
            Arrival(
                "dashboard",
                _PREFIX + frame.peer,
                frame.frame,
                origin=f"{frame.address}, with a {frame.role} key",
                denied=None if frame.role == "command" else _REASON,
            )
            for frame in frames
        ]
        return list(self._server.take_all(arrivals))

    def reply(self, reply: Reply) -> bool:
        """Send it; False when it is for somebody on the Unix socket."""
        if not reply.peer.startswith(_PREFIX):
            return False
        self._socket.send(reply.peer[len(_PREFIX) :], reply.message)
        return True
