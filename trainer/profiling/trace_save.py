"""Writes a finished capture to disk, whole or not at all: what is called a trace can be read."""

import gzip
import os
import time
from pathlib import Path

from perftui.ipc.units import MIB
from perftui.trainer.profiling.torch_session import TraceResults

_CHUNK = MIB
_COMPRESSION = 1
"""Level 6 takes twice the time for a fifth less."""
_EVENT = b'"ph": "X"'
"""As kineto writes the beginning of what has a duration."""


def save_trace(results: TraceResults, path: Path) -> tuple[int, float]:
    """Save raw results as gzipped JSON by way of temporary files.

    Returns how many events they hold, and how many milliseconds torch took to write them.

    Raises:
        OSError: the trace could not be written, or not to its end.
    """
    plain = path.with_name(f"{path.name}.json.tmp")
    packed = path.with_name(f"{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        results.save(str(plain))
        write_ms = (time.perf_counter() - began) * 1000.0
        _check_whole(plain)
        events = _pack(plain, packed)
        packed.chmod(0o600)
        packed.replace(path)
    finally:
        plain.unlink(missing_ok=True)
        packed.unlink(missing_ok=True)
    return events, write_ms


def _pack(plain: Path, packed: Path) -> int:
    events, before = 0, b""
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=_COMPRESSION) as target:
        while chunk := source.read(_CHUNK):
            events += (before + chunk).count(_EVENT)
            before = chunk[-len(_EVENT) + 1 :]
            target.write(chunk)
    return events


def _check_whole(path: Path) -> None:
    """Look at the end of the file: torch reports a disk that is full, or a missing folder, to stderr only."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 64))
            tail = stream.read()
    except FileNotFoundError:
        raise OSError(f"{path}: torch wrote no trace; is the disk full, or the folder read-only?") from None
    if not tail.rstrip().endswith(b"}"):
        raise OSError(f"{path}: the trace breaks off after {size} bytes; is the disk full?")
