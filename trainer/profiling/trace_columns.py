"""A trace as columns: parallel lists with one entry per event, times in integer nanoseconds.

Columns rather than objects, because a window has tens of thousands of events and every figure reads few of
their fields. -1 stands for "the trace does not say" in columns of identifiers.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

DeviceKind: TypeAlias = Literal["kernel", "copy"]


@dataclass(frozen=True)
class HostSpans:
    """Operators and user annotations, step marks left out."""

    name: list[str] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    """Index of the host thread, counted from 0 in order of appearance."""
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    external: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class DeviceCalls:
    """Calls of the device's API from the host: launches, copies, synchronisations."""

    thread: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    correlation: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class DeviceSpans:
    """What ran on devices: kernels, copies, fills."""

    name: list[str] = field(default_factory=list)
    kind: list[DeviceKind] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    external: list[int] = field(default_factory=list)
    correlation: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class StepMarks:
    """`ProfilerStep#N` spans of the host."""

    thread: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class Trace:
    """One rank's trace."""

    host: HostSpans = field(default_factory=HostSpans)
    calls: DeviceCalls = field(default_factory=DeviceCalls)
    device: DeviceSpans = field(default_factory=DeviceSpans)
    steps: StepMarks = field(default_factory=StepMarks)
