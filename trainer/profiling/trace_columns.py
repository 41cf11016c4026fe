"""A trace as columns: numpy arrays with one entry per event, times in integer nanoseconds.

Columns rather than objects, because a window has tens of thousands of events and every figure reads few of
their fields. -1 stands for "the trace does not say" in columns of identifiers and sizes.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perftui.trainer.profiling.trace_events import TraceHead

Integers: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

KERNEL, COPY, FILL = 0, 1, 2
"""Values of `DeviceSpans.kind`."""


@dataclass(frozen=True)
class HostSpans:
    """Operators and marks of host threads, `ProfilerStep#N` included."""

    name: Integers
    """Index into `Trace.names`."""
    thread: Integers
    """Index into `Trace.threads`."""
    start: Integers
    end: Integers
    external: Integers
    shapes: Integers
    """Index into `Trace.shapes`; 0: not recorded."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class DeviceCalls:
    """Calls of the device's API from the host: launches, copies, synchronisations."""

    name: Integers
    thread: Integers
    start: Integers
    end: Integers
    correlation: Integers

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class DeviceSpans:
    """What ran on devices: kernels, copies, fills."""

    name: Integers
    kind: Integers
    start: Integers
    end: Integers
    device: Integers
    stream: Integers
    correlation: Integers
    external: Integers
    bytes: Integers
    graph_node: Flags
    """Part of a graph that was launched as a whole."""
    collective: Integers
    """Index into `Trace.collectives`; -1: none recorded."""
    blocks_per_sm: Reals
    occupancy_pct: Reals
    """NaN: not recorded."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class PythonSpans:
    """Frames of Python functions, where stacks were recorded."""

    name: Integers
    thread: Integers
    start: Integers
    end: Integers

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class SyncSpans:
    """Waits of streams and contexts on the device's side (`cuda_sync`), where they were recorded."""

    name: Integers
    start: Integers
    end: Integers
    stream: Integers
    correlation: Integers

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class MemoryPoints:
    """Allocations and frees, where memory was recorded."""

    time: Integers
    bytes: Integers
    """Negative: freed."""
    allocated: Integers
    """By torch on this device, after it; -1: not told."""
    on_device: Flags

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Collective:
    """What torch wrote on a communication kernel."""

    name: str
    group: str | None
    members: str | None
    """Ranks of the group, as written."""
    sequence: int | None
    mib: float | None


@dataclass(frozen=True)
class Trace:
    """One rank's trace."""

    head: TraceHead
    events: int
    """In the file, of every kind."""
    names: list[str]
    threads: list[tuple[object, object]]
    """Process and thread, as the trace calls them."""
    shapes: list[str]
    collectives: list[Collective]
    host: HostSpans
    calls: DeviceCalls
    device: DeviceSpans
    python: PythonSpans
    syncs: SyncSpans
    memory: MemoryPoints
