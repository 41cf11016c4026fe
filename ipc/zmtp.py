"""What a DEALER says and hears on a ZeroMQ connection: ZMTP 3.0 with the NULL mechanism, as bytes.

Source: ZeroMQ RFC 23/ZMTP, https://rfc.zeromq.org/spec/23/. Its own, because libzmq must not live in the
training's process (see `rank_link`). Nothing here reads or writes a socket.
"""

from collections.abc import Iterator

_SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
_GREETING_BYTES = 64
_MECHANISM = slice(12, 32)
_NULL = b"NULL".ljust(20, b"\0")
_OLDEST_MAJOR = 3
_MORE, _LONG, _COMMAND = 1, 2, 4
_SHORT_MAX = 255
_READY, _PING, _PONG = b"\x05READY", b"\x04PING", b"\x04PONG"
_PING_TTL_BYTES = 2


class NotZmtp(Exception):
    """The peer speaks something else, or sends more than it may: the connection is of no use."""


def greeting() -> bytes:
    """Return the 64 bytes with which a connection begins."""
    return _SIGNATURE + b"\x03\x00" + _NULL + bytes(_GREETING_BYTES - 32)


def ready(identity: str) -> bytes:
    """Return the command that names this end, after the greeting."""
    return _frame(
        _COMMAND,
        _READY + _property("Socket-Type", b"DEALER") + _property("Identity", identity.encode()),
    )


def message_frame(body: bytes) -> bytes:
    """Return a message of one part, ready to be written."""
    return _frame(0, body)


def _property(name: str, value: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + len(value).to_bytes(4, "big") + value


def _frame(flags: int, body: bytes) -> bytes:
    if len(body) <= _SHORT_MAX:
        return bytes([flags, len(body)]) + body
    return bytes([flags | _LONG]) + len(body).to_bytes(8, "big") + body


class ZmtpReader:
    """Takes the bytes of one connection as they come, and gives the messages in them.

    Args:
        most_bytes: the longest frame that is read.

    Attributes:
        ready: the peer has named itself: before that it takes no message, and libzmq closes the connection.
        answers: what the peer must be answered, ready to be written; taken by the caller.
    """

    def __init__(self, most_bytes: int) -> None:
        self.ready = False
        self.answers: list[bytes] = []
        self._most_bytes = most_bytes
        self._unread = bytearray()
        self._greeted = False
        self._in_parts = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that have become whole; those of several parts are passed over.

        Raises:
            NotZmtp: the peer is none that we can talk to.
        """
        self._unread += data
        if not self._greeted and not self._take_greeting():
            return []
        return list(self._messages())

    def _take_greeting(self) -> bool:
        got = bytes(self._unread[:_GREETING_BYTES])
        if got[:1] != _SIGNATURE[: len(got[:1])] or got[9:10] not in (b"", _SIGNATURE[9:]):
            raise NotZmtp("the connection does not begin as ZeroMQ's do")
        if len(got) < _GREETING_BYTES:
            return False
        if got[10] < _OLDEST_MAJOR or got[_MECHANISM] != _NULL:
            raise NotZmtp(f"ZMTP {got[10]}.{got[11]}, mechanism {got[_MECHANISM]!r}")
        del self._unread[:_GREETING_BYTES]
        self._greeted = True
        return True

    def _messages(self) -> Iterator[bytes]:
        while (frame := self._next_frame()) is not None:
            flags, body = frame
            if flags & _COMMAND:
                self._obey(body)
                continue
            alone = not self._in_parts and not flags & _MORE
            self._in_parts = bool(flags & _MORE)
            if alone:
                yield body

    def _next_frame(self) -> tuple[int, bytes] | None:
        unread = self._unread
        if len(unread) < 2:
            return None
        flags = unread[0]
        head = 9 if flags & _LONG else 2
        if len(unread) < head:
            return None
        size = int.from_bytes(unread[1:head], "big")
        if size > self._most_bytes:
            raise NotZmtp(f"a frame of {size} bytes")
        if len(unread) < head + size:
            return None
        body = bytes(unread[head : head + size])
        del unread[: head + size]
        return flags, body

    def _obey(self, body: bytes) -> None:
        if body.startswith(_READY):
            self.ready = True
        elif body.startswith(_PING):
            self.answers.append(_frame(_COMMAND, _PONG + body[len(_PING) + _PING_TTL_BYTES :]))
        elif body.startswith(b"\x05ERROR"):
            raise NotZmtp(f"the peer refuses: {body[7:]!r}")
