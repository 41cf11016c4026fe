"""MessagePack, one typed decoder per direction; what cannot be read becomes one `ProtocolError`."""

from typing import TypeVar

import msgspec

from perftui.ipc.dashboard_messages import FromDashboard, ToDashboard
from perftui.ipc.errors import ProtocolError
from perftui.ipc.host_messages import FromHost, ToHost
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, ToRank

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""A longer frame is refused unread."""

_Message = TypeVar("_Message")

_encoder = msgspec.msgpack.Encoder()
_from_rank: msgspec.msgpack.Decoder[FromRank] = msgspec.msgpack.Decoder(FromRank)
_to_rank: msgspec.msgpack.Decoder[ToRank] = msgspec.msgpack.Decoder(ToRank)
_from_dashboard: msgspec.msgpack.Decoder[FromDashboard] = msgspec.msgpack.Decoder(FromDashboard)
_to_dashboard: msgspec.msgpack.Decoder[ToDashboard] = msgspec.msgpack.Decoder(ToDashboard)
_to_lead: msgspec.msgpack.Decoder[FromHost | FromDashboard] = msgspec.msgpack.Decoder(
    FromHost | FromDashboard
)
_to_host: msgspec.msgpack.Decoder[ToHost] = msgspec.msgpack.Decoder(ToHost)


def encode(message: FromRank | ToRank | FromDashboard | ToDashboard | FromHost | ToHost) -> bytes:
    """Return the frame for a message."""
    return _encoder.encode(message)


def _decode(decoder: "msgspec.msgpack.Decoder[_Message]", frame: bytes, what: str) -> _Message:
    if len(frame) > MAX_FRAME_BYTES:
        raise ProtocolError(f"frame of {len(frame)} bytes {what}: the limit is {MAX_FRAME_BYTES}")
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ProtocolError(
            f"unreadable frame {what} ({error}); this end speaks protocol {PROTOCOL_VERSION}: "
            "use the same perftui version on both ends"
        ) from error


def decode_from_rank(frame: bytes) -> FromRank:
    """Read what a rank sent."""
    return _decode(_from_rank, frame, "from a rank")


def decode_to_rank(frame: bytes) -> ToRank:
    """Read what the hub sent to this rank."""
    return _decode(_to_rank, frame, "from the hub")


def decode_from_dashboard(frame: bytes) -> FromDashboard:
    """Read what a dashboard sent."""
    return _decode(_from_dashboard, frame, "from a dashboard")


def decode_to_dashboard(frame: bytes) -> ToDashboard:
    """Read what the hub sent to this dashboard."""
    return _decode(_to_dashboard, frame, "from the hub")


def decode_to_lead(frame: bytes) -> FromHost | FromDashboard:
    """Read what came to the lead over TCP: from another host's hub or from a dashboard."""
    return _decode(_to_lead, frame, "over TCP")


def decode_to_host(frame: bytes) -> ToHost:
    """Read what the lead sent to this host's hub."""
    return _decode(_to_host, frame, "from the lead hub")
