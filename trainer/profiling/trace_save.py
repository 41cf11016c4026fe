"""Writes a finished capture to disk, whole or not at all: what is called a trace can be read."""

import os
from pathlib import Path

from perftui.trainer.profiling.torch_session import TraceResults


def save_trace(results: TraceResults, path: Path) -> None:
    """Save raw results as `path`, by way of `path.tmp`. torch lets go of the GIL meanwhile.

    Raises:
        OSError: the trace could not be written, or not to its end.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        results.save(str(temporary))
        _check_whole(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
