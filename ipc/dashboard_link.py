"""A dashboard's or command's end: pulls updates by credit, sends commands, notices silence."""

import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

import zmq

from perftui.ipc.codec import MAX_FRAME_BYTES, decode_to_dashboard, encode
from perftui.ipc.dashboard_messages import (
    Answer,
    Command,
    Done,
    Mismatch,
    Pull,
    Question,
    ToDashboard,
    Update,
)
from perftui.ipc.errors import ConnectionLost, ProtocolError, Refused
from perftui.ipc.heartbeats import HEARTBEATS
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.link_keys import PeerKeys
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.secured_dealer import secured_dealer

_QUEUED_OVER_TCP = 64


class LeadAddress(NamedTuple):
    """Where a lead hub is reached over TCP, and with which keys."""

    at: HostPort
    keys: PeerKeys


def new_command_id() -> str:
    """Return an id that no other command has."""
    return secrets.token_hex(6)


class DashboardLink:
    """A DEALER to one hub; used by one thread. Survives a restart of the hub.

    Args:
        address: a Unix socket's on this host, or the lead hub's over TCP.
    """

    def __init__(self, address: str | LeadAddress) -> None:
        self._context = zmq.Context(io_threads=1)
        if isinstance(address, LeadAddress):
            self._socket = secured_dealer(self._context, address.at, address.keys, _QUEUED_OVER_TCP)
        else:
            self._socket = self._local(address)
        self._number = 0
        self._output_number = 0
        self._closer: tuple[int, ...] = ()
        """Ranks that the last update told all about."""

    def _local(self, address: str) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        for option, value in HEARTBEATS.items():
            socket.setsockopt(option, value)
        socket.connect(address)
        return socket

    def pull(self, closer: Sequence[int] = (0,)) -> None:
        """Ask for all that is newer than the last update seen, and of many ranks for all about these few."""
        pull = Pull(
            protocol=PROTOCOL_VERSION,
            since=self._number,
            output_since=self._output_number,
            closer=sorted(closer),
            anew=tuple(sorted(closer)) != self._closer,
        )
        self._send(pull)

    def command(self, command: Command | Question) -> None:
        """Send a command or a question; its `Answer` and `Done` come through `receive`."""
        self._send(command)

    def _send(self, message: Pull | Command | Question) -> None:
        try:
            self._socket.send(encode(message), zmq.NOBLOCK)
        except zmq.Again:
            return  # the hub is away and our queue is full: the next pull asks for the same

    def receive(self, timeout_ms: int) -> ToDashboard | None:
        """Return the next message, or None when none came in time.

        Raises:
            ProtocolError: the hub speaks another protocol.
        """
        if not self._socket.poll(timeout_ms):
            return None
        message = decode_to_dashboard(self._socket.recv(zmq.NOBLOCK))
        if isinstance(message, Mismatch):
            raise ProtocolError(
                f"the hub speaks protocol {message.hub_protocol}, this perftui {message.your_protocol}: "
                "use the version that started the run"
            )
        if isinstance(message, Update):
            self._number = message.number
            self._closer = tuple(message.closer)
            if message.output_number or message.snapshot:
                self._output_number = message.output_number
        return message

    def ask(self, command: Command | Question, timeout_s: float, *, answer_s: float = 5.0) -> Done:
        """Send a command and wait for its end.

        Raises:
            ConnectionLost: no answer within `answer_s`, or no end within `timeout_s`.
            Refused: the hub declined, with its reason.
        """
        self.command(command)
        started = time.monotonic()
        answered = False
        while True:
            waited = time.monotonic() - started
            if waited > (timeout_s if answered else answer_s):
                raise ConnectionLost(f"no answer from the run's hub within {waited:.0f} s")
            message = self.receive(200)
            if isinstance(message, Answer) and message.command_id == command.command_id:
                if not message.accepted:
                    raise Refused(message.reason or "the hub declined without a reason")
                answered = True
            elif isinstance(message, Done) and message.command_id == command.command_id:
                return message

    def snapshot(self, timeout_s: float) -> Update:
        """Pull once and wait for the whole picture.

        Raises:
            ConnectionLost: nothing came in time.
        """
        self._number = 0
        self.pull()
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            message = self.receive(max(1, int(left * 1000)))
            if isinstance(message, Update):
                return message
        raise ConnectionLost(f"the run's hub did not answer within {timeout_s:.0f} s")

    def close(self) -> None:
        """Close at once."""
        self._socket.close(0)
        self._context.term()
