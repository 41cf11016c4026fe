"""What a host's hub still has to bring to the lead: packed into batches, kept until taken, bounded."""

from collections import deque
from typing import NamedTuple

from perftui.ipc.codec import MAX_FRAME_BYTES, encode
from perftui.ipc.host_messages import HostBatch
from perftui.ipc.recording import Entry

KEPT_BYTES = 16 * 1024 * 1024
IN_FLIGHT = 16
_BATCH_ENTRIES = 256


class _Packed(NamedTuple):
    number: int
    frame: bytes
    entries: int


class ForwardQueue:
    """Filled by the hub's loop, emptied over the link by the same loop.

    Args:
        kept_bytes: beyond this the oldest batches go, and are counted.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._fresh: list[Entry] = []
        self._batches: deque[_Packed] = deque()
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
        return not self._fresh and not self._batches

    def add(self, entry: Entry) -> None:
        """Put an entry into line."""
        self._fresh.append(entry)

    def pack(self) -> None:
        """Make batches of what has been added."""
        fresh, self._fresh = self._fresh, []
        for begin in range(0, len(fresh), _BATCH_ENTRIES):
            self._pack(fresh[begin : begin + _BATCH_ENTRIES])
        while self._bytes > self._kept_bytes:
            oldest = self._batches.popleft()
            self._bytes -= len(oldest.frame)
            self.dropped += oldest.entries

    def _pack(self, entries: list[Entry]) -> None:
        frame = encode(HostBatch(number=self._number + 1, entries=entries, dropped=self.dropped))
        if len(frame) > MAX_FRAME_BYTES:
            if len(entries) == 1:
                self.dropped += 1
                return
            half = len(entries) // 2
            self._pack(entries[:half])
            self._pack(entries[half:])
            return
        self._number += 1
        self._batches.append(_Packed(self._number, frame, len(entries)))
        self._bytes += len(frame)

    def taken(self, last: int) -> None:
        """The lead has all batches up to this number."""
        while self._batches and self._batches[0].number <= last:
            self._bytes -= len(self._batches.popleft().frame)

    def again(self) -> None:
        """Begin anew with what is not taken yet: the link was cut."""
        self._sent = 0

    def due(self) -> list[bytes]:
        """Return the frames that may be sent now, oldest first; `sent` says how many were."""
        if not self._batches:
            return []
        room = IN_FLIGHT - sum(each.number <= self._sent for each in self._batches)
        if room <= 0:
            return []
        return [each.frame for each in self._batches if each.number > self._sent][:room]

    def sent(self, count: int) -> None:
        """So many of the frames that were due are on their way."""
        waiting = [each.number for each in self._batches if each.number > self._sent]
        if count:
            self._sent = waiting[count - 1]
