"""Gives the lead a trace that a rank of this host has written, a piece each time it asks."""

import os
import stat
from pathlib import Path

from perftui.ipc.host_messages import AskTrace, TracePart
from perftui.trainer.hub.fold import RunFold

PIECE_BYTES = 256 * 1024


def trace_part(ask: AskTrace, fold: RunFold, folder: Path) -> TracePart:
    """Return the piece that was asked for, or why there is none.

    The file is the one that the rank has named in its report, and lies in the run's own folder.
    """
    track = fold.ranks.get(ask.rank)
    report = track.windows.get(ask.window_id) if track is not None else None
    if report is None or report.path is None:
        return _missing(ask, "this rank has written none in this window")
    path = folder / Path(report.path).name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return _missing(ask, f"{path.name} is no file")
            data = os.pread(handle, PIECE_BYTES, max(0, ask.offset))
        finally:
            os.close(handle)
    except OSError as error:
        return _missing(ask, f"{path.name}: {error.strerror}")
    return TracePart(
        window_id=ask.window_id, rank=ask.rank, offset=ask.offset, total=found.st_size, data=data
    )


def _missing(ask: AskTrace, why: str) -> TracePart:
    return TracePart(
        window_id=ask.window_id, rank=ask.rank, offset=ask.offset, total=0, data=b"", missing=why
    )
