"""Reads Kineto's Chrome JSON, plain or gzip, from any torch since 1.13, CUDA, ROCm or CPU only."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from perftui.ipc.errors import RecordingError
from perftui.trainer.profiling.trace_builder import TraceBuilder
from perftui.trainer.profiling.trace_columns import (
    DeviceCalls,
    DeviceSpans,
    HostSpans,
    MemoryPoints,
    PythonSpans,
    SyncSpans,
    Trace,
)
from perftui.trainer.profiling.trace_events import TraceHead
from perftui.trainer.profiling.trace_pieces import TracePieces
from perftui.trainer.profiling.trace_shares import read_shares


def read_trace(path: Path, processes: int = 1) -> Trace:
    """Read a trace file, a large plain one in so many processes.

    Raises:
        RecordingError: the file is missing, cut off, not JSON, not a trace, or has no events in it.
    """
    try:
        with uncollected():
            trace = _read(path, processes)
    except RecursionError as error:
        raise RecordingError(f"{path}: not a torch.profiler trace (nested too deeply)") from error
    if not (len(trace.host) or len(trace.calls) or len(trace.device)):
        raise RecordingError(
            f"{path}: no operators and no kernels among its {trace.events} events; "
            "not a torch.profiler trace, or an empty window"
        )
    return trace


def _read(path: Path, processes: int) -> Trace:
    shared = read_shares(path, processes) if processes > 1 else None
    if shared is not None:
        return _trace(*shared)
    pieces, builder = TracePieces(path), TraceBuilder()
    for events in pieces:
        builder.add(events)
    return _trace(pieces.head, pieces.events, builder)


@contextmanager
def uncollected() -> Generator[None, None, None]:
    """Keep the garbage collector off: events hold no cycles, and it would go through them again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _trace(head: TraceHead, events: int, builder: TraceBuilder) -> Trace:
    return Trace(
        head=head,
        events=events,
        host=HostSpans(**builder.columns("host")),
        calls=DeviceCalls(**builder.columns("calls")),
        device=DeviceSpans(**builder.columns("device")),
        python=PythonSpans(**builder.columns("python")),
        syncs=SyncSpans(**builder.columns("syncs")),
        memory=MemoryPoints(**builder.columns("memory")),
        names=[str(name) for name in builder.names.values()],
        threads=builder.threads.values(),
        shapes=[bytes(text).decode("utf-8", "replace") for text in builder.shapes.values()],
        collectives=builder.collectives,
    )
