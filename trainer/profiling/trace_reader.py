"""Reads Kineto's Chrome JSON, plain or gzip, from any torch since 1.13, CUDA, ROCm or CPU only."""

import gc
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
from perftui.trainer.profiling.trace_pieces import TracePieces


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        RecordingError: the file is missing, cut off, not JSON, not a trace, or has no events in it.
    """
    pieces, builder = TracePieces(path), TraceBuilder()
    collecting = gc.isenabled()
    gc.disable()  # decoded events hold no cycles, and the collector would go through them again and again
    try:
        for events in pieces:
            builder.add(events)
    finally:
        if collecting:
            gc.enable()
    trace = _trace(pieces, builder)
    if not (len(trace.host) or len(trace.calls) or len(trace.device)):
        raise RecordingError(
            f"{path}: no operators and no kernels among its {trace.events} events; "
            "not a torch.profiler trace, or an empty window"
        )
    return trace


def _trace(pieces: TracePieces, builder: TraceBuilder) -> Trace:
    return Trace(
        head=pieces.head,
        events=pieces.events,
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
