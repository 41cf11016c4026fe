"""What hubs of several hosts may say to each other beyond types, as `frame_checks` for ranks. Pure."""

import math

import msgspec

from perftui.ipc.errors import ProtocolError
from perftui.ipc.frame_checks import (
    LARGEST_CLOCK,
    PID_MAX,
    RANKS_MAX,
    TEXT_MAX,
    check_from_rank,
    check_name,
    check_to_rank,
    check_whole,
)
from perftui.ipc.host_messages import (
    AskTrace,
    ForRank,
    FromHost,
    HostBatch,
    HostBeat,
    HostHello,
    HostStacks,
    HostWelcome,
    LeadBeat,
    ToHost,
    TracePart,
)
from perftui.ipc.recording import LATEST_UNIX, Entry

RANKS_OF_A_HOST = 1024
_WORKERS_MAX = 8192
_BYTES = 1 << 40


def check_from_host(message: FromHost) -> None:
    """Check what another host's hub brought.

    Raises:
        ProtocolError: it says something that no hub can mean.
    """
    if isinstance(message, HostHello):
        _text(message, message.host)
        _text(message, message.run_id)
        check_whole(message, "len(ranks)", len(message.ranks), 0, RANKS_OF_A_HOST)
        for rank, pid in message.ranks:
            check_whole(message, "rank", rank, 0, RANKS_MAX - 1)
            check_whole(message, "pid", pid, 1, PID_MAX)
    elif isinstance(message, HostBatch):
        check_whole(message, "number", message.number, 1, LARGEST_CLOCK)
        check_whole(message, "dropped", message.dropped, 0, LARGEST_CLOCK)
        for entry in message.entries:
            _check_entry(entry)
    elif isinstance(message, HostBeat):
        _check_beat(message)
    elif isinstance(message, TracePart):
        check_name(message, message.window_id)
        check_whole(message, "offset", message.offset, 0, _BYTES)
        check_whole(message, "total", message.total, 0, _BYTES)
    else:
        check_name(message, message.window_id)
        _check_stacks(message)


def _check_entry(entry: Entry) -> None:
    if not (math.isfinite(entry.unix) and 0 <= entry.unix <= LATEST_UNIX):
        raise ProtocolError(f"host_batch: {entry.unix} is no time")
    if entry.message is not None:
        check_from_rank(entry.message, 0)  # the batch as a whole has its limit
    if len(entry.hosts) > 1 or any(len(view.workers) > _WORKERS_MAX for view in entry.hosts):
        raise ProtocolError("host_batch: readings of more than one host, or of too many workers")


def _check_beat(beat: HostBeat) -> None:
    check_whole(beat, "len(gone)", len(beat.gone), 0, RANKS_OF_A_HOST)
    check_whole(beat, "dropped", beat.dropped, 0, LARGEST_CLOCK)
    for name in ("sent_ns", "offset_ns", "error_ns", "round_trip_ns", "exit_code"):
        check_whole(beat, name, getattr(beat, name) or 0, -LARGEST_CLOCK, LARGEST_CLOCK)


def _check_stacks(message: HostStacks) -> None:
    check_whole(message, "len(stacks)", len(message.stacks), 0, _WORKERS_MAX)
    check_whole(message, "len(notes)", len(message.notes), 0, 64)
    for note in message.notes:
        _text(message, note)


def check_to_host(message: ToHost) -> None:
    """Check what the lead sent to this host's hub.

    Raises:
        ProtocolError: it says something that no lead can mean.
    """
    if isinstance(message, ForRank):
        check_whole(message, "rank", message.rank, 0, RANKS_MAX - 1)
        check_to_rank(message.order)
    elif isinstance(message, AskTrace):
        check_name(message, message.window_id)
        check_whole(message, "offset", message.offset, 0, _BYTES)
    elif isinstance(message, HostWelcome):
        _text(message, message.name)
        _text(message, message.run_id)
        check_whole(message, "last", message.last, 0, LARGEST_CLOCK)
    elif isinstance(message, LeadBeat):
        for name in ("asked_ns", "received_ns", "sent_ns", "last"):
            check_whole(message, name, getattr(message, name), 0, LARGEST_CLOCK)


def _text(message: msgspec.Struct, text: str) -> None:
    if len(text) > TEXT_MAX:
        raise ProtocolError(f"{message.__struct_config__.tag}: a text of more than {TEXT_MAX} characters")
