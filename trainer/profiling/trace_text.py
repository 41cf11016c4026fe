"""The text of a trace file in blocks, plain or gzip, so that it never lies in memory as a whole."""

import sys
import zlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from perftui.ipc.errors import RecordingError

BLOCK_BYTES = 1 << 17
"""An eighth of a MiB: its decoded events stay in the processor's caches. Larger blocks are slower."""

_PACKED_BYTES = 12 << 10
"""Traces shrink some 20 times; what any gzip data can grow to, a thousandfold, still fits into memory."""

_SHRINKS_AT_MOST = 200
"""Beyond the first `_TRUSTED_BYTES` of text, what shrinks more than that is no trace: kineto's shrink to a
twentieth, zeros to a thousandth."""
_TRUSTED_BYTES = 1 << 30

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_FORMAT = 31


def is_packed(path: Path) -> bool:
    """Return whether a file is gzip data. Raises OSError."""
    with FileIO(path) as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def text_blocks(path: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the text in blocks of about `BLOCK_BYTES`; of a plain file also a range of bytes alone.

    Raises:
        RecordingError: the file is missing or unreadable, or its gzip data are damaged or cut off.
    """
    try:
        with FileIO(path) as file:
            packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(start)
            if packed:
                yield from _unpacked(path, file)
                return
            left = sys.maxsize if end is None else end - start
            while block := file.read(min(BLOCK_BYTES, left)):
                yield block
                left -= len(block)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from error


def _unpacked(path: Path, file: FileIO) -> Iterator[bytes]:
    """Decompress one gzip member after another; what follows the last one is padding."""
    member, packed = zlib.decompressobj(_GZIP_FORMAT), file.read(_PACKED_BYTES)
    unpacked = 0
    try:
        while packed:
            if block := member.decompress(packed):
                unpacked += len(block)
                if unpacked > max(_TRUSTED_BYTES, _SHRINKS_AT_MOST * file.tell()):
                    raise RecordingError(
                        f"{path}: {file.tell()} compressed bytes hold more than {unpacked >> 20} MiB: "
                        "no trace shrinks so much"
                    )
                yield block
            packed = member.unused_data or file.read(_PACKED_BYTES)
            if member.eof:
                if not packed.startswith(_GZIP_MAGIC):
                    return
                member = zlib.decompressobj(_GZIP_FORMAT)
    except zlib.error as error:
        raise RecordingError(f"{path}: damaged gzip file ({error})") from error
    raise RecordingError(
        f"{path}: cut off after {file.tell()} compressed bytes; the trace was not written to its end"
    )
