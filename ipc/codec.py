"""MessagePack, one typed decoder per direction; what cannot be read becomes one `ProtocolError`."""

from typing import TypeVar

import msgspec

from perftui.ipc.dashboard_messages import FromDashboard, ToDashboard
from perftui.ipc.errors import ProtocolError
from perftui.ipc.frame_checks import check_from_dashboard, check_from_rank, check_to_rank
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, ToRank

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""What a hub may send to a dashboard. A longer frame is refused unread."""
MAX_RANK_FRAME_BYTES = 1024 * 1024
"""Either way between a rank and its hub; 2,000 steps take 300 kB at most."""
MAX_COMMAND_BYTES = 256 * 1024
"""What a dashboard or a command may send."""

_Message = TypeVar("_Message")

_encoder = msgspec.msgpack.Encoder()
_from_rank: msgspec.msgpack.Decoder[FromRank] = msgspec.msgpack.Decoder(FromRank)
_to_rank: msgspec.msgpack.Decoder[ToRank] = msgspec.msgpack.Decoder(ToRank)
_from_dashboard: msgspec.msgpack.Decoder[FromDashboard] = msgspec.msgpack.Decoder(FromDashboard)
_to_dashboard: msgspec.msgpack.Decoder[ToDashboard] = msgspec.msgpack.Decoder(ToDashboard)


def encode(message: FromRank | ToRank | FromDashboard | ToDashboard) -> bytes:
    """Return the frame for a message."""
    return _encoder.encode(message)


def _decode(
    decoder: "msgspec.msgpack.Decoder[_Message]", frame: bytes, what: str, most: int = MAX_RANK_FRAME_BYTES
) -> _Message:
    if len(frame) > most:
        raise ProtocolError(f"frame of {len(frame)} bytes {what}: the limit is {most}")
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(
            f"unreadable frame {what} ({error}); this end speaks protocol {PROTOCOL_VERSION}: "
            "use the same perftui version on both ends"
        ) from error


def decode_from_rank(frame: bytes) -> FromRank:
    """Read what a rank sent. Raises ProtocolError."""
    message = _decode(_from_rank, frame, "from a rank")
    check_from_rank(message, len(frame))
    return message


def decode_to_rank(frame: bytes) -> ToRank:
    """Read what the hub sent to this rank. Raises ProtocolError."""
    message = _decode(_to_rank, frame, "from the hub")
    check_to_rank(message)
    return message


def decode_from_dashboard(frame: bytes) -> FromDashboard:
    """Read what a dashboard sent. Raises ProtocolError."""
    message = _decode(_from_dashboard, frame, "from a dashboard", MAX_COMMAND_BYTES)
    check_from_dashboard(message)
    return message


def decode_to_dashboard(frame: bytes) -> ToDashboard:
    """Read what the hub sent to this dashboard. Raises ProtocolError."""
    return _decode(_to_dashboard, frame, "from the hub", MAX_FRAME_BYTES)
