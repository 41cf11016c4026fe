"""Dashboards that come to the lead over TCP: whoever holds a key may look, commands need a key for them."""

from perftui.ipc.dashboard_messages import Answer, FromDashboard, LedgerQuery, Pull, StepsQuery, SummaryQuery
from perftui.ipc.lead_socket import LeadSocket, PeerFrame
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer

_PREFIX = b"tcp:"
"""Keeps the names that two sockets give to their peers apart."""
_LOOKS = (Pull, StepsQuery, LedgerQuery, SummaryQuery)


class RemoteDashboards:
    """Passes what a key allows to the same server that answers on the Unix socket."""

    def __init__(self, socket: LeadSocket, server: DashboardServer) -> None:
        self._socket = socket
        self._server = server

    def take(self, frame: PeerFrame, message: FromDashboard) -> None:
        """Answer one frame."""
        if frame.role != "command" and not isinstance(message, _LOOKS):
            reason = "this key may only look; commands need the job's key or a command key"
            self._socket.send(
                frame.peer, Answer(command_id=message.command_id, accepted=False, reason=reason)
            )
            return
        for reply in self._server.take(_PREFIX + frame.peer, frame.frame):
            self.reply(reply)

    def reply(self, reply: Reply) -> bool:
        """Send it; False when it is for somebody on the Unix socket."""
        if not reply.peer.startswith(_PREFIX):
            return False
        self._socket.send(reply.peer[len(_PREFIX) :], reply.message)
        return True
