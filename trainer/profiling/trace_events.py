"""What of a Kineto trace is decoded: typed, lenient, and only the fields that a figure needs.

Writers differ: numbers come as strings (ROCm), threads as names, streams as either. What varies is `Any` here
and is made sense of in `trace_builder`.
"""

import math
from typing import Any, TypeAlias

import msgspec

Number: TypeAlias = int | float | str | None

_NOTHING = msgspec.Raw(b"")


class EventArguments(msgspec.Struct, gc=False):
    """The `args` of an event."""

    external: Any = msgspec.field(name="External id", default=-1)
    correlation: Any = -1
    stream: Any = None
    device: Any = None
    bytes: Any = -1
    blocks_per_sm: Any = msgspec.field(name="blocks per SM", default=math.nan)
    occupancy_pct: Any = msgspec.field(name="est. achieved occupancy %", default=math.nan)
    graph_node: Any = msgspec.field(name="graph node id", default=None)
    shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=_NOTHING)
    collective: Any = msgspec.field(name="Collective name", default=None)
    group: Any = msgspec.field(name="Process Group Name", default=None)
    members: Any = msgspec.field(name="Process Group Ranks", default=None)
    sequence: Any = msgspec.field(name="Seq", default=None)
    element_type: Any = msgspec.field(name="dtype", default=None)
    elements_in: Any = msgspec.field(name="In msg nelems", default=None)
    elements_out: Any = msgspec.field(name="Out msg nelems", default=None)
    allocation_bytes: Any = msgspec.field(name="Bytes", default=-1)
    allocated_bytes: Any = msgspec.field(name="Total Allocated", default=-1)
    device_type: Any = msgspec.field(name="Device Type", default=-1)


class Event(msgspec.Struct, gc=False):
    """One event of any category, or of none."""

    cat: Number = ""
    name: Number = ""
    pid: Number = None
    tid: Number = None
    ts: Number = None
    dur: Number = None
    args: EventArguments | None = None


class TraceHead(msgspec.Struct, kw_only=True):
    """What stands beside the events; writers put it before or after them."""

    devices: Any = msgspec.field(name="deviceProperties", default=None)
    distributed: Any = msgspec.field(name="distributedInfo", default=None)
    hip_runtime_version: Any = None
    roctracer_version: Any = None

    def completed(self, other: "TraceHead") -> "TraceHead":
        """Return this head, with what the other knows and this does not."""
        fields = TraceHead.__struct_fields__
        missing = {name: getattr(other, name) for name in fields if getattr(self, name) is None}
        return msgspec.structs.replace(self, **missing)


class TraceFile(TraceHead, kw_only=True):
    """A whole trace file in the form of an object."""

    events: list[Event] = msgspec.field(name="traceEvents")
