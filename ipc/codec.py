"""MessagePack, one typed decoder per direction; what cannot be read becomes one `ProtocolError`."""

from typing import TypeVar

import msgspec

from perftui.ipc.dashboard_messages import FromDashboard, ToDashboard
from perftui.ipc.errors import ProtocolError
from perftui.ipc.frame_checks import check_from_dashboard, check_from_rank, check_to_rank
from perftui.ipc.host_checks import check_from_host, check_to_host
from perftui.ipc.host_messages import FromHost, ToHost
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, ToRank
from perftui.ipc.told_text import encoded
from perftui.ipc.units import MIB

MAX_FRAME_BYTES = 16 * MIB
"""What a hub may send to a dashboard. A longer frame is refused unread."""
MAX_RANK_FRAME_BYTES = MIB
"""Either way between a rank and its hub; 2,000 steps take 300 kB at most."""
MAX_COMMAND_BYTES = 256 * 1024
"""What a dashboard or a command may send."""

_Message = TypeVar("_Message")

_encoder = msgspec.msgpack.Encoder()
_from_rank: msgspec.msgpack.Decoder[FromRank] = msgspec.msgpack.Decoder(FromRank)
_to_rank: msgspec.msgpack.Decoder[ToRank] = msgspec.msgpack.Decoder(ToRank)
_from_dashboard: msgspec.msgpack.Decoder[FromDashboard] = msgspec.msgpack.Decoder(FromDashboard)
_to_dashboard: msgspec.msgpack.Decoder[ToDashboard] = msgspec.msgpack.Decoder(ToDashboard)
_from_host: msgspec.msgpack.Decoder[FromHost] = msgspec.msgpack.Decoder(FromHost)
_to_host: msgspec.msgpack.Decoder[ToHost] = msgspec.msgpack.Decoder(ToHost)


def encode(message: FromRank | ToRank | FromDashboard | ToDashboard | FromHost | ToHost) -> bytes:
    """Return the frame for a message; what is no UTF-8 in its texts gets a mark."""
    return encoded(_encoder.encode, message)


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


def decode_from_host(frame: bytes) -> FromHost:
    """Read what another host's hub brought to the lead. Raises ProtocolError."""
    message = _decode(_from_host, frame, "from another host", MAX_FRAME_BYTES)
    check_from_host(message)
    return message


def decode_to_host(frame: bytes) -> ToHost:
    """Read what the lead sent to this host's hub. Raises ProtocolError."""
    message = _decode(_to_host, frame, "from the lead hub")
    check_to_host(message)
    return message
