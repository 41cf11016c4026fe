"""The categories of events, which table each belongs to, and a type of its own for each, quicker to decode.

Such a type has only the arguments that its table has columns for, and an event that no figure needs has no
fields at all: a smaller event is made sooner and stays in the processor's caches until it is in the columns.
"""

from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, cast

import msgspec

from perftui.trainer.profiling.trace_columns import COPY, FILL, KERNEL
from perftui.trainer.profiling.trace_events import Event, EventArguments

DEVICE_KINDS = {
    "kernel": KERNEL,
    "Kernel": KERNEL,
    "gpu_memcpy": COPY,
    "Memcpy": COPY,
    "gpu_memset": FILL,
    "Memset": FILL,
}
CATEGORIES: dict[str, tuple[str, ...]] = {
    "host": ("cpu_op", "Operator", "user_annotation"),
    "calls": (
        "cuda_runtime",
        "cuda_driver",
        "Runtime",
        "hip_runtime",
        "xpu_runtime",
        "xpu_driver",
        "mtia_runtime",
        "privateuse1_runtime",
        "privateuse1_driver",
    ),
    "device": tuple(DEVICE_KINDS),
    "python": ("python_function", "Python function"),
    "syncs": ("cuda_sync",),
    "memory": ("cpu_instant_event",),
}
"""By table."""

_COLLECTIVE = ("collective", "group", "members", "sequence", "element_type", "elements_in", "elements_out")
_CONFIGURATION = ("blocks_per_sm", "occupancy_pct", "graph_node")
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "host": ("external", "shapes"),
    "calls": ("correlation",),
    "device": ("external", "correlation", "stream", "device", "bytes", *_CONFIGURATION, *_COLLECTIVE),
    "python": (),
    "syncs": ("correlation", "stream"),
    "memory": ("allocation_bytes", "allocated_bytes", "device_type"),
}
_FORGOTTEN = (
    "Trace",
    "ac2g",
    "async_cpu_to_gpu",
    "async_gpu",
    "collective_comm",
    "fwdbwd",
    "gpu_user_annotation",
    "overhead",
)
"""Common, and in no table. What is not named at all is decoded as an `Event`."""


def _arguments(table: str) -> type[msgspec.Struct]:
    known = {field.name: field for field in msgspec.structs.fields(EventArguments)}
    fields = [
        (one.name, one.type, msgspec.field(name=one.encode_name, default=one.default))
        for one in map(known.__getitem__, _ARGUMENTS[table])
    ]
    return msgspec.defstruct(f"{table.title()}Arguments", fields, gc=False)


def _typed(category: str, arguments: type[msgspec.Struct] | None) -> type[Event]:
    fields = [
        (one.name, one.type if one.name != "args" else arguments | None, one.default)
        for one in msgspec.structs.fields(Event)
        if one.name != "cat" and arguments is not None
    ]
    made = msgspec.defstruct(
        "CategoryEvent", fields, tag_field="cat", tag=category, gc=False, namespace={"cat": category}
    )
    return cast("type[Event]", made)


_arguments_of = {table: _arguments(table) for table in CATEGORIES}
TABLE_OF_TYPE: dict[type[Event], str] = {
    _typed(category, _arguments_of[table]): table
    for table, categories in CATEGORIES.items()
    for category in categories
}
"""The types, which read like an `Event`, with their tables."""
_all_types: Any = reduce(or_, [*TABLE_OF_TYPE, *(_typed(category, None) for category in _FORGOTTEN)])
decoder: "msgspec.json.Decoder[list[Event]]" = msgspec.json.Decoder(
    cast("type[list[Event]]", GenericAlias(list, (_all_types,)))
)
"""Of lists in which every event has one of the categories above; others are a `ValidationError`."""
