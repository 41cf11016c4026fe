"""A run on disk: what the ranks sent and what the host's sensors read, bounded, readable after a crash.

A folder of segments `000001.rec`, …; each is a header line and length-prefixed MessagePack entries. When the
budget is spent the oldest segment but the first goes: the beginning (hello, settings) stays. What a reader
must know without the segments before, the writer says again at the head of each. A torn last entry is
skipped on reading, any other damage is an error that names file and offset.
"""

import contextlib
import errno
import math
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from perftui.ipc.errors import ProtocolError, RecordingError
from perftui.ipc.findings import Appearance
from perftui.ipc.frame_checks import check_from_rank
from perftui.ipc.host_links import HostEvent
from perftui.ipc.messages import FromRank
from perftui.ipc.owned_files import opener, regular_file
from perftui.ipc.told_text import encoded
from perftui.ipc.units import MIB
from perftui.ipc.view import GpuView, HostView

_MAGIC = b"perftui recording 1\n"
_LENGTH = struct.Struct("<I")
_PARTS = 8
"""A full segment has this part of the budget: so much goes at once when it is spent."""
_HEAD_PART = 4
_ENTRY_MAX = 16 * MIB
LATEST_UNIX = 1e10
"""The year 2286: what comes later is no time, and not every calendar can write it."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the recording: a rank's message, or a reading of the sensors."""

    unix: float
    message: FromRank | None = None
    hosts: list[HostView] = []
    gpus: list[GpuView] = []
    gap: int = 0
    """Entries lost before this one because the disk refused them."""
    appeared: list[Appearance] = []
    """Findings that were shown for the first time."""
    host_events: list[HostEvent] = []
    """Hosts that joined, were lost, came back or left."""
    repeated: bool = False
    """Known already to whoever has read all segments before: how a rank stood when this segment began."""
    after_hole: bool = False
    """Never written: set on reading where segments before this entry are gone."""


_decoder = msgspec.msgpack.Decoder(Entry)
_encoder = msgspec.msgpack.Encoder()


class RecordingWriter:
    """Appends entries within a byte budget; a full or failing disk drops them and counts.

    Args:
        folder: where the segments are.
        budget_bytes: of all of them together.
        standing: returns what is said again at the head of a segment, the most needed first; beyond a quarter
            of the segment the rest is left out.
    """

    def __init__(
        self, folder: Path, budget_bytes: int, standing: Callable[[], Iterable[Entry]] = tuple
    ) -> None:
        self._standing = standing
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._segment_bytes = max(4096, budget_bytes // _PARTS)
        self._stream: FileIO | None = None
        self._written = 0
        self._pending_gap = 0
        self.failed_entries = 0
        self.failure: str | None = None
        """Why the disk refused, in its own words."""

    def append(self, entry: Entry) -> None:
        """Write one entry; never raises for the disk's sake."""
        if self._pending_gap:
            entry = msgspec.structs.replace(entry, gap=self._pending_gap)
        data = _framed(entry)
        try:
            _write_whole(self._open_segment(len(data)), data)
            self._written += len(data)
        except OSError as error:
            self.failed_entries += 1
            self._pending_gap += 1
            self.failure = error.strerror or str(error)
            self._cut_off_what_is_torn()
        else:
            self._pending_gap = 0

    def close(self) -> None:
        """Close; everything has been handed to the system already."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # nothing is buffered that could be lost
                self._stream.close()
            self._stream = None

    def _open_segment(self, size: int) -> FileIO:
        if self._stream is not None and self._written + size <= self._segment_bytes:
            return self._stream
        self.close()
        segments = _segments(self._folder)
        number = int(segments[-1].stem) + 1 if segments else 1
        path = self._folder / f"{number:06}.rec"
        stream = open(path, "xb", buffering=0, opener=opener)  # noqa: SIM115 (kept open, to append)
        head = _MAGIC + self._head()
        try:
            _write_whole(stream, head)
        except OSError:
            stream.close()
            path.unlink()
            raise
        self._stream, self._written = stream, len(head)
        # only now: a disk that refuses must not cost what is there
        self._make_room(segments, max(self._segment_bytes, len(head) + size))
        return stream

    def _head(self) -> bytes:
        head, room = b"", self._segment_bytes // _HEAD_PART
        for entry in self._standing():
            entry = msgspec.structs.replace(entry, repeated=True, gap=self._pending_gap)
            data = _framed(entry)
            if len(head) + len(data) > room:
                break
            with contextlib.suppress(ProtocolError):  # what no reader would take must not stand there
                _check(entry, len(data))
                head += data
        return head

    def _make_room(self, segments: list[Path], size: int) -> None:
        """Remove the oldest segments but the first while another one of this size would exceed the budget."""
        sizes = [path.stat().st_size for path in segments]
        excess = sum(sizes) + size - self._budget_bytes
        for path, freed in zip(segments[1:], sizes[1:], strict=True):
            if excess <= 0:
                return
            path.unlink()
            excess -= freed

    def _cut_off_what_is_torn(self) -> None:
        """Go on in the same segment: a disk that refuses each entry would leave as many segments."""
        if self._stream is None:
            return
        try:
            self._stream.truncate(self._written)
            self._stream.seek(self._written)
        except OSError:  # then it stays, at the end of its segment
            self.close()


def _framed(entry: Entry) -> bytes:
    body = encoded(_encoder.encode, entry)
    return _LENGTH.pack(len(body)) + body


def _write_whole(stream: FileIO, data: bytes) -> None:
    """Write without a buffer, so that a killed hub loses nothing and each refusal is known at once."""
    if stream.write(data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.rec"))


def read_recording(path: Path) -> Iterator[Entry]:
    """Yield the entries of a recording folder, or of one segment file, oldest first.

    The first entry after segments that are gone has `after_hole` set.

    Raises:
        RecordingError: nothing there, not a recording, or damaged elsewhere than at the end of a segment.
    """
    segments = [path] if path.is_file() else _segments(path)
    if not segments:
        raise RecordingError(f"{path}: no recording there")
    before, hole = 0, False
    for segment in segments:
        number = int(segment.stem) if segment.stem.isdecimal() else before + 1
        hole, before = hole or number != before + 1, number
        for entry in _read_segment(segment):
            yield msgspec.structs.replace(entry, after_hole=True) if hole else entry
            hole = False


def _read_segment(path: Path) -> Iterator[Entry]:
    try:
        with regular_file(path) as stream:
            head = stream.read(len(_MAGIC))
            if head != _MAGIC and not (len(head) < len(_MAGIC) and _MAGIC.startswith(head)):
                raise RecordingError(f"{path}: not a recording of this version")
            yield from _read_entries(path, stream)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error


def _read_entries(path: Path, stream: BinaryIO) -> Iterator[Entry]:
    while True:
        offset = stream.tell()
        head = stream.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return
        (length,) = _LENGTH.unpack(head)
        if length > _ENTRY_MAX:
            raise RecordingError(f"{path}: damaged at byte {offset} (entry of {length} bytes)")
        data = stream.read(length)
        if len(data) < length:
            return
        try:
            entry = _decoder.decode(data)
            _check(entry, length)
        except (msgspec.DecodeError, ProtocolError, RecursionError) as error:
            raise RecordingError(f"{path}: damaged at byte {offset} ({error})") from error
        yield entry


def _check(entry: Entry, length: int) -> None:
    """Hold what is read from a disk to what is taken from the wire."""
    if not (math.isfinite(entry.unix) and 0 <= entry.unix <= LATEST_UNIX):
        raise ProtocolError(f"{entry.unix} is no time")
    if entry.message is not None:
        check_from_rank(entry.message, length)
