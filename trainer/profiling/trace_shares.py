"""Reads a large plain trace in several processes, each a share of it; in doubt it is read in one.

Processes are forked, not started anew: the interpreter and numpy take longer to load than such a file does to
be read.
"""

import threading
import warnings
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from perftui.ipc.errors import RecordingError
from perftui.trainer.profiling.trace_builder import Gathered, TraceBuilder
from perftui.trainer.profiling.trace_events import TraceHead
from perftui.trainer.profiling.trace_pieces import Share, TracePieces, split
from perftui.trainer.profiling.trace_text import is_packed

SHARE_BYTES = 8 << 20
"""A smaller share is not worth a process."""

_Read: TypeAlias = tuple[Gathered, int, TraceHead]


def read_shares(path: Path, processes: int) -> tuple[TraceHead, int, TraceBuilder] | None:
    """Return the file's head, number of events and columns.

    None where that is not worth it or not safe (small, packed, other threads about), and where a share could
    not be read: only reading from the start can say what is wrong, and where.
    """
    try:
        count = min(processes, path.stat().st_size // SHARE_BYTES)
        if count < 2 or threading.active_count() > 1 or is_packed(path):
            return None
        shares = split(path, count)
    except (OSError, RecordingError):
        return None
    parts = _read(path, shares) if shares else None
    if parts is None:
        return None
    builder = TraceBuilder()
    for gathered, _, _ in parts:
        builder.append(gathered)
    first, last = TracePieces(path), parts[-1][2]
    first.open()
    return first.head.completed(last), sum(events for _, events, _ in parts), builder


def _read(path: Path, shares: Sequence[Share]) -> list[_Read] | None:
    """Read the last share here and the others in processes of their own; None if one failed."""
    context = get_context("fork")
    running = []
    for share in shares[:-1]:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_send_share, args=(sender, path, share), daemon=True)
        with warnings.catch_warnings():
            # numpy's threads are idle here, and the child calls nothing that needs them
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        sender.close()
        running.append((process, receiver))
    try:
        last = _read_share(path, shares[-1])
        return [*(receiver.recv() for _, receiver in running), last]
    except (EOFError, RecordingError):
        return None
    finally:
        for process, receiver in running:
            receiver.close()
            process.join()


def _send_share(sender: Connection, path: Path, share: Share) -> None:
    try:
        sender.send(_read_share(path, share))
    except (RecordingError, BrokenPipeError):
        sender.close()


def _read_share(path: Path, share: Share) -> _Read:
    pieces, builder = TracePieces(path, share), TraceBuilder()
    for events in pieces:
        builder.add(events)
    return builder.gathered(), pieces.events, pieces.head
