"""A member hub's link to the lead: a DEALER under CURVE; used by one thread, never blocks."""

import zmq

from perftui.ipc.codec import decode_to_host, encode
from perftui.ipc.errors import ProtocolError
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.host_messages import FromHost, ToHost
from perftui.ipc.link_keys import PeerKeys
from perftui.ipc.secured_dealer import secured_dealer

QUEUED_FRAMES = 64
_READS_PER_TURN = 256


class MemberSocket:
    """Connects, and connects again, by itself."""

    def __init__(self, lead: HostPort, keys: PeerKeys) -> None:
        self._context = zmq.Context(io_threads=1)
        self.socket = secured_dealer(self._context, lead, keys, QUEUED_FRAMES)
        self.unreadable = 0

    def send(self, message: FromHost) -> bool:
        """Queue a message; False when the queue is full and nothing was sent."""
        return self.send_frame(encode(message))

    def send_frame(self, frame: bytes) -> bool:
        """Queue what is encoded already."""
        try:
            self.socket.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def receive(self) -> list[ToHost]:
        """Return what the lead has sent since the last call; unreadable frames are counted."""
        messages: list[ToHost] = []
        for _ in range(_READS_PER_TURN):
            try:
                frame = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                messages.append(decode_to_host(frame))
            except ProtocolError:
                self.unreadable += 1
        return messages

    def close(self) -> None:
        """Close at once."""
        self.socket.close(0)
        self._context.term()
