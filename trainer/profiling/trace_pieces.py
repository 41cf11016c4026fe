"""Cuts a trace's text between events and decodes piece by piece, so that memory stays far below the text.

A border is guessed from the text (`}, {"ph"`). A wrong guess, within a string or within an event's arguments,
leaves a piece that is not JSON; one that decodes proves its border, by induction from the first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perftui.ipc.errors import RecordingError
from perftui.trainer.profiling import trace_categories
from perftui.trainer.profiling.trace_events import Event, TraceFile, TraceHead
from perftui.trainer.profiling.trace_mending import mended
from perftui.trainer.profiling.trace_text import text_blocks

_OBJECT, LIST = b'{"traceEvents":[', b"["
_BEGINNING = re.compile(rb'"traceEvents"\s*:\s*\[')
_BORDERS = (
    re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|args|ts|pid|tid|id|dur|bp|s)")'),
    re.compile(rb"\}\s*,\s*(?=\{)"),
)
_BYTE = re.compile(r" \(byte (\d+)\)$")
_EVENT = re.compile(r"at `\$(?:\.traceEvents)?\[(\d+)\](.*)`")
_NEAR_END = 1 << 11
_GUESSES = 4
_HEAD_BYTES = 64 << 20
_EVENT_BYTES = 32 << 20
"""So much text without an event's end is no trace; it would have to be held, and be looked through again."""
_TAIL_BYTES = 256 << 20
"""Of what stands behind the events."""
_WINDOW_BYTES = 1 << 17
_TRUST = 8
"""So many pieces in a row with events of no known category, and the others are taken for such too."""

_events_decoder = msgspec.json.Decoder(list[Event])
_head_decoder = msgspec.json.Decoder(TraceHead)
_file_decoder = msgspec.json.Decoder(TraceFile)


@dataclass(frozen=True)
class Share:
    """A part of a plain file that holds whole events."""

    start: int
    end: int | None
    """None: to the end of the file, with what stands behind the list of events."""
    opening: bytes
    """What makes the text from here on a document."""


class TracePieces:
    """The events of a file in lists, in the order of the file; `head` is complete once all were taken.

    Args:
        path: of the file.
        share: of the file, to be read alone.
    """

    def __init__(self, path: Path, share: Share | None = None) -> None:
        self.head = TraceHead()
        self.events = 0
        """Taken so far, of every kind."""
        self._path = path
        self._share = share
        self._offset = 0 if share is None else share.start
        self._blocks = text_blocks(path, self._offset, None if share is None else share.end)
        self._text = b""
        """Of `_text` within the file's text."""
        self._ended = False
        self._trust = _TRUST

    def __iter__(self) -> Iterator[list[Event]]:
        """Yield the events.

        Raises:
            RecordingError: missing, cut off, not JSON, or not a trace; it names the byte or the event.
        """
        opening = self.open() if self._share is None else self._share.opening
        block = b""
        while not self._ended:
            piece = self._whole_events(block)
            if piece:
                yield piece
                self.events += len(piece)
            if len(self._text) > _EVENT_BYTES and not self._ended:
                raise RecordingError(
                    f"{self._path}: not a torch.profiler trace "
                    f"(no event ends within {_EVENT_BYTES >> 20} MiB from byte {self._offset} on)"
                )
            block = next(self._blocks, b"")
            self._ended |= not block
        self._text += b"".join((block, *self._tail(len(block))))
        if self._share is not None and self._share.end is not None:
            self._text += b"]"
        last = self._rest(opening)
        yield last
        self.events += len(last)

    def _tail(self, held: int) -> Iterator[bytes]:
        for block in self._blocks:
            held += len(block)
            if held > _TAIL_BYTES:
                raise RecordingError(
                    f"{self._path}: more than {_TAIL_BYTES >> 20} MiB behind the events; not a trace"
                )
            yield block

    @property
    def offset(self) -> int:
        """Of what was not yet taken, in the file's text."""
        return self._offset

    def open(self) -> bytes:
        """Read up to the first event; return what an excerpt of the list has to begin with.

        Raises:
            RecordingError: there is no list of events.
        """
        tried = 0
        for block in self._blocks:
            self._text += block
            if not self._text.strip():
                continue
            if self._text.lstrip().startswith(b"["):
                self._drop(self._text.index(b"[") + 1)
                return LIST
            for found in _BEGINNING.finditer(self._text, max(0, tried - 64)):
                if self._is_head(self._text[: found.end()]):
                    self._drop(found.end())
                    return _OBJECT
            tried = len(self._text)
            if not self._text.lstrip().startswith(b"{") or tried > _HEAD_BYTES:
                break
        if not self._text.strip():
            raise RecordingError(f"{self._path}: empty file")
        self._rest(b"")
        raise RecordingError(f"{self._path}: not a torch.profiler trace (no list of traceEvents)")

    def _is_head(self, text: bytes) -> bool:
        for candidate in (text + b"]}", mended(text + b"]}")):
            try:
                self.head = _head_decoder.decode(candidate)
            except msgspec.DecodeError:
                continue
            return True
        return False

    def _drop(self, count: int) -> None:
        self._text = self._text[count:]
        self._offset += count

    def _whole_events(self, block: bytes) -> list[Event] | None:
        """Take the events up to the last border in the text and the block behind it, and keep the rest.

        None where no border can be told yet. The block is looked at first, and alone: the text behind the
        border before is short.
        """
        before, text = self._text, block
        for _ in range(2):
            for brace, after in self._borders(text):
                events = self._decoded(b"".join((b"[", before, memoryview(text)[: brace + 1], b"]")))
                if events is not None:
                    self._offset += len(before) + after
                    self._text = text[after:]
                    return events
                if self._ended:
                    break
            before, text = b"", self._text + block
            if self._ended:
                break
        self._text = text
        return None

    def _borders(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield places of likely borders, the last first: of the brace before and of the brace behind."""
        for start in (max(0, len(text) - _NEAR_END), 0):
            for border in _BORDERS:
                found = [match.span() for match in border.finditer(text, start)][-_GUESSES:]
                yield from reversed(found)

    def _decoded(self, piece: bytes, *, mend: bool = True) -> list[Event] | None:
        """Decode what should be whole events; None where it breaks off within one, or the list ends in it."""
        try:
            return self._events_of(piece)
        except msgspec.ValidationError as error:
            raise self._not_a_trace(error) from error
        except msgspec.DecodeError as error:
            if "trailing characters" in str(error):
                self._ended = True
                return None
            place = _byte(error)
            if (place is None and not _bad_text(error)) or (place is not None and place >= len(piece) - 1):
                return None
            if mend:
                events = self._decoded(mended(piece), mend=False)
                if events is not None or self._ended:
                    return events
            raise self._not_json(error, 1) from error

    def _events_of(self, piece: bytes) -> list[Event]:
        """Decode by category where all events have a known one; where few pieces do, it is not tried."""
        if self._trust > 0:
            try:
                events = trace_categories.decoder.decode(piece)
            except msgspec.ValidationError:
                self._trust -= 1
            else:
                self._trust = _TRUST
                return events
        return _events_decoder.decode(piece)

    def _rest(self, opening: bytes) -> list[Event]:
        """Decode all that is left of the text, the end of the file included."""
        text = opening + self._text
        try:
            return self._file(text, opening)
        except msgspec.ValidationError as error:
            raise self._not_a_trace(error) from error
        except msgspec.DecodeError as error:
            first = error
        try:
            return self._file(mended(text), opening)
        except msgspec.ValidationError as error:
            raise self._not_a_trace(error) from error
        except msgspec.DecodeError as error:
            raise self._not_json(first, len(opening)) from error

    def _file(self, text: bytes, opening: bytes) -> list[Event]:
        if opening == LIST:
            return _events_decoder.decode(text)
        file = _file_decoder.decode(text)
        self.head = self.head.completed(file)
        return file.events

    def _not_a_trace(self, error: msgspec.ValidationError) -> RecordingError:
        found = _EVENT.search(str(error))
        told = str(error)
        if found is not None:
            told = f"{told[: found.start()]}at traceEvents[{self.events + int(found[1])}]{found[2]}"
        return RecordingError(f"{self._path}: not a torch.profiler trace ({told})")

    def _not_json(self, error: msgspec.DecodeError, opening_bytes: int) -> RecordingError:
        place, end = _byte(error), self._offset + len(self._text)
        if place is None and not _bad_text(error):
            return RecordingError(
                f"{self._path}: cut off at byte {end}; the trace was not written to its end"
            )
        if place is None:
            return RecordingError(f"{self._path}: not JSON ({error}, before byte {end})")
        told = _BYTE.sub("", str(error))
        return RecordingError(
            f"{self._path}: not JSON ({told} at byte {max(0, self._offset + place - opening_bytes)})"
        )


def split(path: Path, count: int) -> list[Share]:
    """Return a plain file's events in so many shares of about equal size; none where no border is seen.

    A wrong guess makes a share undecodable, as with pieces.

    Raises:
        RecordingError: there is no list of events.
        OSError: the file cannot be read.
    """
    pieces = TracePieces(path)
    opening = pieces.open()
    begin, size = pieces.offset, path.stat().st_size
    starts, ends = [begin], list[int]()
    with path.open("rb") as file:
        for number in range(1, count):
            place = begin + (size - begin) * number // count
            file.seek(place)
            found = _BORDERS[0].search(file.read(_WINDOW_BYTES))
            if found is None or place <= starts[-1]:
                return []
            ends.append(place + found.start() + 1)
            starts.append(place + found.end())
    shares = [Share(start, end, LIST) for start, end in zip(starts, ends, strict=False)]
    return [*shares, Share(starts[-1], None, opening)]


def _byte(error: msgspec.DecodeError) -> int | None:
    found = _BYTE.search(str(error))
    return None if found is None else int(found[1])


def _bad_text(error: msgspec.DecodeError) -> bool:
    return "UTF-8" in str(error)
