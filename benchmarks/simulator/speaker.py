"""One process that speaks for many ranks, each over a socket of its own.

`python -m benchmarks.simulator.speaker JSON`: the job and the ranks to speak for.
"""

import signal
import sys
import time
from collections.abc import Iterable

import msgspec
import zmq

from benchmarks.simulator.job import Job
from benchmarks.simulator.rank import FRAME_S, MadeRank
from perftui.ipc.codec import decode_to_rank, encode
from perftui.ipc.messages import ArmWindow, AskHello, FromRank
from perftui.ipc.places import run_places
from perftui.ipc.rank_link import QUEUED_FRAMES, rank_identity
from perftui.trainer.hub.file_limit import make_room

_SLOTS = 10
"""Ranks do not all wake at the same moment: a tenth of them each hundredth of a second."""
_MORE_SOCKETS = 64


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What one process is to do."""

    job: Job
    first: int
    count: int
    seconds: float | None = None


class Speaker:
    """The sockets of some ranks; set up as `RankLink` sets up its own, but for one context for all."""

    def __init__(self, order: Order) -> None:
        self._ranks = [order.job.rank(order.first + number) for number in range(order.count)]
        self._context = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, order.count + _MORE_SOCKETS)
        address = run_places(order.job.run_id).rank_socket
        self._sockets = [self._connected(address, rank) for rank in self._ranks]
        self.sent = self.refused = 0

    def _connected(self, address: str, rank: MadeRank) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, rank_identity(rank.place.rank, rank.place.pid).encode())
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, QUEUED_FRAMES)
        socket.setsockopt(zmq.RCVHWM, QUEUED_FRAMES)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 500)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 2000)
        socket.connect(address)
        return socket

    def greet(self) -> None:
        """Say hello for all."""
        for rank, socket in zip(self._ranks, self._sockets, strict=True):
            self._send(socket, rank.greeting())

    def speak(self, slot: int) -> None:
        """Send what the ranks of one slot have to say, and do as they are told."""
        now_ns = time.perf_counter_ns()
        for rank, socket in zip(self._ranks[slot::_SLOTS], self._sockets[slot::_SLOTS], strict=True):
            self._send(socket, rank.until(now_ns))
            self._hear(rank, socket)

    def _hear(self, rank: MadeRank, socket: "zmq.Socket[bytes]") -> None:
        while socket.poll(0):
            message = decode_to_rank(socket.recv(zmq.NOBLOCK))
            if isinstance(message, AskHello):
                self._send(socket, rank.greeting())
            elif isinstance(message, ArmWindow):
                self._send(socket, [rank.declined(message)])

    def _send(self, socket: "zmq.Socket[bytes]", messages: Iterable[FromRank]) -> None:
        for message in messages:
            self._send_one(socket, encode(message))

    def _send_one(self, socket: "zmq.Socket[bytes]", frame: bytes) -> None:
        try:
            socket.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            self.refused += 1
        else:
            self.sent += 1

    def close(self) -> None:
        """Say goodbye for all."""
        for rank, socket in zip(self._ranks, self._sockets, strict=True):
            self._send(socket, [rank.farewell()])
        for socket in self._sockets:
            socket.close(500)
        self._context.term()


def main() -> int:
    """Speak until the time is over or somebody ends it."""
    order = msgspec.json.decode(sys.argv[1], type=Order)
    ended = False

    def end(_signum: int, _frame: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    make_room(2 * order.count)
    speaker = Speaker(order)
    speaker.greet()
    began, turn = time.monotonic(), 0
    while not ended and (order.seconds is None or time.monotonic() - began < order.seconds):
        speaker.speak(turn % _SLOTS)
        turn += 1
        time.sleep(max(0.0, began + turn * FRAME_S / _SLOTS - time.monotonic()))
    late_s = time.monotonic() - began - turn * FRAME_S / _SLOTS
    speaker.close()
    print(f"{speaker.sent} frames sent, {speaker.refused} refused, {late_s:.1f} s late", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
