"""The rank's end of the telemetry socket. Owned by one thread; never blocks, never raises when full.

It speaks ZeroMQ's protocol over a plain socket of its own. With libzmq here, a script that closes all its
descriptors would die of it: the library's own threads abort the process when their sockets are gone.
"""

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable

from perftui.ipc.codec import MAX_RANK_FRAME_BYTES, decode_to_rank, encode
from perftui.ipc.errors import ProtocolError
from perftui.ipc.held_descriptor import DescriptorLost
from perftui.ipc.held_socket import HeldSocket
from perftui.ipc.messages import FromRank, ToRank
from perftui.ipc.zmtp import NotZmtp, ZmtpReader, greeting, message_frame, ready

QUEUED_FRAMES = 64
_AGAIN_S = 0.1
"""Between two attempts to connect."""
_READ_BYTES = 65536
_READS_PER_DRAIN = 64
_SCHEME = "ipc://"


def rank_identity(rank: int, pid: int) -> str:
    """Return the name under which a rank's process is known to the hub's socket."""
    return f"r{rank}.{pid}"


class RankLink:
    """A bounded DEALER to the hub; it connects by itself, again and again.

    Args:
        address: `ipc://` and a path.
        identity: as `rank_identity` gives it.
    """

    def __init__(self, address: str, identity: str) -> None:
        self._path = address.removeprefix(_SCHEME)
        self._begin = greeting() + ready(identity)
        self._socket: HeldSocket | None = None
        self._again_at = 0.0
        self._reader = ZmtpReader(MAX_RANK_FRAME_BYTES)
        self._first: deque[bytes] = deque()
        """Of this connection: its beginning, and answers to its peer; before any frame."""
        self._frames: deque[bytes] = deque()
        self._sending: deque[bytes] | None = None
        """The queue whose first entry the system has taken in part; it stays there until it is sent."""
        self._sent = 0
        self._arrived: deque[bytes] = deque()

    def send(self, message: FromRank) -> bool:
        """Queue a message; False when the queue is full and nothing was sent.

        Raises:
            ProtocolError: it is longer than a hub takes: the connection would be cut for it again and again.
        """
        if len(self._frames) >= QUEUED_FRAMES:
            self._pump()
        if len(self._frames) >= QUEUED_FRAMES:
            return False
        frame = encode(message)
        if len(frame) > MAX_RANK_FRAME_BYTES:
            raise ProtocolError(f"frame of {len(frame)} bytes: the limit is {MAX_RANK_FRAME_BYTES}")
        self._frames.append(message_frame(frame))
        self._pump()
        return True

    def receive(self) -> list[ToRank]:
        """Return what the hub has sent since the last call; unreadable frames are skipped."""
        self._pump()
        messages: list[ToRank] = []
        while self._arrived:
            with contextlib.suppress(ProtocolError):
                messages.append(decode_to_rank(self._arrived.popleft()))
        return messages

    def wait(self, timeout_ms: int) -> None:
        """Sleep until the hub speaks or the time is over; meanwhile what is queued is sent."""
        self._work(time.monotonic() + timeout_ms / 1000, lambda: bool(self._arrived))

    def drain(self, seconds: float) -> bool:
        """Give queued frames this long to leave; True when all have."""
        self._work(time.monotonic() + seconds, lambda: not self._unsent)
        return not self._unsent

    def flush(self, seconds: float) -> None:
        """Give queued frames this long to leave, then close."""
        self.drain(seconds)
        self.close()

    def close(self) -> None:
        """Close at once; what is queued is lost."""
        self._disconnect()
        self._frames.clear()
        self._again_at = float("inf")

    @property
    def _unsent(self) -> bool:
        return bool(self._frames or self._first)

    def _work(self, deadline: float, done: Callable[[], bool]) -> None:
        while True:
            self._pump()
            left_s = deadline - time.monotonic()
            if done() or left_s <= 0:
                return
            if self._socket is None:
                time.sleep(min(left_s, _AGAIN_S))
            else:
                self._socket.wait(math.ceil(left_s * 1000), to_send=bool(self._next_queue()))

    def _pump(self) -> None:
        """Move what can be moved now, both ways; a connection that is lost is made anew."""
        if self._socket is None and not self._connect():
            return
        try:
            self._read()
            self._write()
        except (OSError, NotZmtp) as error:
            self._disconnect()
            if isinstance(error, DescriptorLost):  # nobody is away: the script has closed it
                self._again_at = 0.0

    def _connect(self) -> bool:
        now = time.monotonic()
        if now < self._again_at:
            return False
        self._again_at = now + _AGAIN_S
        try:
            self._socket = HeldSocket(self._path)
        except OSError:
            return False
        self._reader = ZmtpReader(MAX_RANK_FRAME_BYTES)
        self._first.append(self._begin)
        return True

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._first.clear()
        self._sending, self._sent = None, 0

    def _read(self) -> None:
        for _ in range(_READS_PER_DRAIN):
            data = self._held.receive(_READ_BYTES)
            if data is None:
                return
            if not data:
                raise ConnectionResetError("the hub has closed the connection")
            self._arrived += self._reader.feed(data)
            self._first += self._reader.answers
            self._reader.answers.clear()

    def _next_queue(self) -> deque[bytes] | None:
        """Return the queue whose first entry is the next to be sent; none or an empty one: nothing can be."""
        return self._sending or self._first or (self._frames if self._reader.ready else None)

    def _write(self) -> None:
        while queue := self._next_queue():
            data = queue[0]
            taken = self._held.send(memoryview(data)[self._sent :])
            self._sent += taken
            if self._sent < len(data):
                self._sending = queue
                if not taken:
                    return
                continue
            queue.popleft()
            self._sending, self._sent = None, 0

    @property
    def _held(self) -> HeldSocket:
        if self._socket is None:
            raise ConnectionResetError("not connected")
        return self._socket
