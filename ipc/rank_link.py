"""The rank's end of the telemetry socket. Owned by one thread; never blocks, never raises when full."""

import zmq

from perftui.ipc.codec import MAX_RANK_FRAME_BYTES, decode_to_rank, encode
from perftui.ipc.errors import ProtocolError
from perftui.ipc.messages import FromRank, ToRank

QUEUED_FRAMES = 64
_HEARTBEAT_MS = 500
_HEARTBEAT_TIMEOUT_MS = 2000
_READS_PER_DRAIN = 64


def rank_identity(rank: int, pid: int) -> str:
    """Return the name under which a rank's process is known to the hub's socket."""
    return f"r{rank}.{pid}"


class RankLink:
    """A bounded DEALER to the hub.

    A context of its own: the user's script may use ZeroMQ and end its context as it likes.
    """

    def __init__(self, address: str, identity: str) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IDENTITY, identity.encode())
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, QUEUED_FRAMES)
        self._socket.setsockopt(zmq.RCVHWM, QUEUED_FRAMES)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_RANK_FRAME_BYTES)
        self._socket.setsockopt(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
        self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, _HEARTBEAT_TIMEOUT_MS)
        self._socket.connect(address)

    def send(self, message: FromRank) -> bool:
        """Queue a message; False when the queue is full and nothing was sent."""
        try:
            self._socket.send(encode(message), zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def receive(self) -> list[ToRank]:
        """Return what the hub has sent since the last call; unreadable frames are skipped."""
        messages: list[ToRank] = []
        for _ in range(_READS_PER_DRAIN):
            try:
                frame = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                messages.append(decode_to_rank(frame))
            except ProtocolError:
                continue
        return messages

    def wait(self, timeout_ms: int) -> None:
        """Sleep until the hub speaks or the time is over."""
        self._socket.poll(timeout_ms)

    def flush(self, seconds: float) -> None:
        """Give queued frames this long to leave, then close."""
        self._socket.setsockopt(zmq.LINGER, int(seconds * 1000))
        self._socket.close()
        self._context.term()

    def close(self) -> None:
        """Close at once; what is queued is lost."""
        self._socket.close(0)
        self._context.term()
