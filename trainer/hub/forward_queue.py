"""What a host's hub still has to bring to the lead: kept until taken, bounded, packed when it can go."""

from collections import deque
from typing import NamedTuple

import msgspec

from perftui.ipc.codec import MAX_FRAME_BYTES
from perftui.ipc.recording import Entry
from perftui.ipc.told_text import encoded
from perftui.ipc.units import MIB

KEPT_BYTES = 16 * MIB
IN_FLIGHT = 16
"""Batches; the lead says twice a second what it has, so that 8,192 entries a second go through."""
BATCH_ENTRIES = 256
_BATCH_BYTES = 512 * 1024
"""16 of them twice a second are what a lead allows a host; an entry that is longer goes alone."""
_ENTRY_MAX = MAX_FRAME_BYTES - 1024
"""What a batch says beside its entries has its room."""

_encoder = msgspec.msgpack.Encoder()


class _PackedBatch(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="host_batch"):
    """A `HostBatch` of entries that are encoded already."""

    number: int
    entries: list[msgspec.Raw]
    dropped: int


class _Packed(NamedTuple):
    number: int
    frame: bytes


class ForwardQueue:
    """Filled by the hub's loop, emptied over the link by the same loop.

    Entries wait unpacked as long as nothing more may be on its way: packed as they come they would be many
    small batches, of which only so many may be.

    Args:
        kept_bytes: beyond this the oldest entries that are not packed yet go, and are counted.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._waiting: deque[bytes] = deque()
        """Entries, each encoded."""
        self._batches: deque[_Packed] = deque()
        """Packed and not taken yet: no more than may be on their way."""
        self._bytes = 0
        self._number = 0
        self._sent = 0
        """Number of the newest batch that is on its way."""
        self.dropped = 0
        """Entries that were lost for want of room."""

    @property
    def kept(self) -> int:
        """Bytes that are kept for the lead."""
        return self._bytes

    @property
    def empty(self) -> bool:
        """Whether the lead has everything."""
        return not self._waiting and not self._batches

    def add(self, entry: Entry) -> None:
        """Put an entry into line."""
        data = encoded(_encoder.encode, entry)
        if len(data) > _ENTRY_MAX:
            self.dropped += 1
            return
        self._waiting.append(data)
        self._bytes += len(data)
        while self._bytes > self._kept_bytes and self._waiting:
            self._bytes -= len(self._waiting.popleft())
            self.dropped += 1

    def pack(self) -> None:
        """Make batches of what waits, as many as may be on their way."""
        while self._waiting and len(self._batches) < IN_FLIGHT:
            entries = self._next_entries()
            self._number += 1
            raw = [msgspec.Raw(data) for data in entries]
            frame = _encoder.encode(_PackedBatch(number=self._number, entries=raw, dropped=self.dropped))
            self._bytes += len(frame) - sum(map(len, entries))
            self._batches.append(_Packed(self._number, frame))

    def _next_entries(self) -> list[bytes]:
        entries = [self._waiting.popleft()]
        size = len(entries[0])
        while self._waiting and len(entries) < BATCH_ENTRIES and size + len(self._waiting[0]) <= _BATCH_BYTES:
            entries.append(self._waiting.popleft())
            size += len(entries[-1])
        return entries

    def taken(self, last: int) -> None:
        """The lead has all batches up to this number."""
        while self._batches and self._batches[0].number <= last:
            self._bytes -= len(self._batches.popleft().frame)

    def again(self) -> None:
        """Begin anew with what is not taken yet: the link was cut."""
        self._sent = 0

    def due(self) -> list[bytes]:
        """Return the frames that may be sent now, oldest first; `sent` says how many were."""
        return [each.frame for each in self._batches if each.number > self._sent]

    def sent(self, count: int) -> None:
        """So many of the frames that were due are on their way."""
        waiting = [each.number for each in self._batches if each.number > self._sent]
        if count:
            self._sent = waiting[count - 1]
