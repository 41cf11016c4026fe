"""Sorts decoded events into the columns of a trace."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perftui.trainer.profiling.trace_columns import (
    COPY,
    FILL,
    KERNEL,
    MARK,
    OPERATOR,
    Collective,
    Integers,
)
from perftui.trainer.profiling.trace_events import Event, EventArguments
from perftui.trainer.profiling.trace_numbers import integers, nanoseconds, reals

_HOST = {"cpu_op": OPERATOR, "Operator": OPERATOR, "user_annotation": MARK}
_CALLS = (
    "cuda_runtime",
    "cuda_driver",
    "Runtime",
    "hip_runtime",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
)
_DEVICE = {
    "kernel": KERNEL,
    "Kernel": KERNEL,
    "gpu_memcpy": COPY,
    "Memcpy": COPY,
    "gpu_memset": FILL,
    "Memset": FILL,
}
_PYTHON = ("python_function", "Python function")
_NO_ARGUMENTS = EventArguments()
_MIB = 1 << 20
_BITS = re.compile(r"(\d+)$")
_BYTES_OF_TYPE = {
    **dict.fromkeys(("byte", "char", "bool"), 1),
    **dict.fromkeys(("short", "half", "bfloat16"), 2),
    **dict.fromkeys(("int", "float"), 4),
    **dict.fromkeys(("long", "double", "complexfloat"), 8),
}

Columns: TypeAlias = dict[str, npt.NDArray[Any]]

_fields = attrgetter("name", "pid", "tid", "ts", "dur", "args")


class Interned:
    """Values numbered in the order in which they came."""

    def __init__(self, *values: Hashable) -> None:
        self._numbers = {value: number for number, value in enumerate(values)}

    def number(self, value: Hashable) -> int:
        """Return the value's number."""
        return self._numbers.setdefault(value, len(self._numbers))

    def numbers(self, values: Iterable[Hashable]) -> Integers:
        """Return the values' numbers."""
        known = self._numbers
        setdefault = known.setdefault
        return np.array([setdefault(value, len(known)) for value in values], np.int64)

    def values(self) -> list[Any]:
        """Return the values by number."""
        return list(self._numbers)


class TraceBuilder:
    """Takes events in any order; `columns` gives what was gathered."""

    def __init__(self) -> None:
        self.names = Interned()
        self.threads = Interned()
        self.shapes = Interned(b"")
        self.stacks = Interned(b"")
        self.collectives: list[Collective] = []
        self._streams = Interned()
        self._parts: dict[str, list[Columns]] = {table: [] for table in _TABLES}
        self._sinks: dict[str, list[Event]] = {table: [] for table in _TABLES}
        self._append_by_category: dict[Any, Callable[[Event], None]] = {
            category: self._sinks[table].append
            for table, categories in _TABLES.items()
            for category in categories
        }

    def add(self, events: Sequence[Event]) -> None:
        """File the events; those of other categories, or without times, are left out."""
        append_by_category = self._append_by_category
        points = self._sinks["memory"]
        for event in events:
            if event.ph == "X":
                append = append_by_category.get(event.cat)
                if append is not None:
                    append(event)
            elif event.name == "[memory]":
                points.append(event)
        for table, group in self._sinks.items():
            if group:
                self._parts[table].append(self._columns_of(table, group))
                group.clear()

    def columns(self, table: str) -> Columns:
        """Return a table's columns and forget them."""
        parts = self._parts.pop(table)
        if not parts:
            return self._columns_of(table, [])
        return {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}

    def _columns_of(self, table: str, group: list[Event]) -> Columns:
        if table == "memory":
            return _memory(group)
        names, pids, tids, starts_us, durations_us, args = (
            zip(*map(_fields, group), strict=True) if group else ((),) * 6
        )
        start_us, duration_us = reals(starts_us), reals(durations_us)
        start = nanoseconds(np.nan_to_num(start_us, posinf=0.0, neginf=0.0))
        lasting = nanoseconds(np.nan_to_num(np.maximum(duration_us, 0.0), posinf=0.0))
        columns: Columns = {"name": self.names.numbers(names), "start": start, "end": start + lasting}
        details = [_NO_ARGUMENTS if one is None else one for one in args]
        if table in ("host", "calls", "python"):
            columns["thread"] = self.threads.numbers(zip(pids, tids, strict=True))
        if table in ("host", "calls", "device"):
            columns["external"] = _external(details)
        if table in ("calls", "device", "syncs"):
            columns["correlation"] = _column(details, _correlation)
        if table == "host":
            columns |= self._host(group, details)
        elif table == "device":
            columns |= self._device(group, details, pids, tids)
        elif table == "syncs":
            columns["stream"] = self._identifiers([one.stream for one in details])
        usable = np.isfinite(start_us) & np.isfinite(duration_us)
        return columns if usable.all() else {name: column[usable] for name, column in columns.items()}

    def _host(self, group: list[Event], details: list[EventArguments]) -> Columns:
        return {
            "kind": np.array([_HOST[event.cat] for event in group], np.int8),
            "shapes": self.shapes.numbers([bytes(one.shapes) for one in details]),
            "call_stack": self.stacks.numbers([bytes(one.call_stack) for one in details]),
        }

    def _device(
        self, group: list[Event], details: list[EventArguments], pids: Sequence[Any], tids: Sequence[Any]
    ) -> Columns:
        devices = [pid if one.device is None else one.device for one, pid in zip(details, pids, strict=True)]
        streams = [tid if one.stream is None else one.stream for one, tid in zip(details, tids, strict=True)]
        return {
            "kind": np.array([_DEVICE[event.cat] for event in group], np.int8),
            "device": self._identifiers(devices),
            "stream": self._identifiers(streams),
            "bytes": _column(details, _bytes),
            "graph_node": np.array([bool(one.graph_node) for one in details], np.bool_),
            "collective": np.array([self._collective(one) for one in details], np.int64),
            "blocks_per_sm": reals([one.blocks_per_sm for one in details]),
            "occupancy_pct": reals([one.occupancy_pct for one in details]),
        }

    def _identifiers(self, values: list[Any]) -> Integers:
        """Return device or stream numbers; names that hold none get negative ones."""
        try:
            return np.array(values, np.int64)
        except (ValueError, TypeError, OverflowError):
            return np.array([self._identifier(value) for value in values], np.int64)

    def _identifier(self, value: object) -> int:
        found = _BITS.search(str(value))
        return int(found[1]) if found is not None else -2 - self._streams.number(str(value))

    def _collective(self, details: EventArguments) -> int:
        if details.collective is None:
            return -1
        self.collectives.append(_collective_of(details))
        return len(self.collectives) - 1


def _collective_of(details: EventArguments) -> Collective:
    group = details.group if details.group not in (None, "") else details.group_title
    sequence = int(integers([details.sequence])[0])
    elements = max(int(integers([count])[0]) for count in (details.elements_in, details.elements_out))
    kind = str(details.element_type).lower()
    bits = _BITS.search(kind)
    size = _BYTES_OF_TYPE.get(kind) or (int(bits[1]) / 8 if bits else None)
    return Collective(
        name=str(details.collective),
        group=None if group is None else str(group),
        members=None if details.members is None else str(details.members),
        sequence=sequence if sequence >= 0 else None,
        mib=None if elements < 0 or size is None else elements * size / _MIB,
    )


def _memory(group: list[Event]) -> Columns:
    details = [_NO_ARGUMENTS if event.args is None else event.args for event in group]
    time_us = reals([event.ts for event in group])
    return {
        "time": nanoseconds(np.nan_to_num(time_us)),
        "bytes": _column(details, attrgetter("allocation_bytes")),
        "allocated": _column(details, attrgetter("allocated_bytes")),
        # 0 is the CPU in c10::DeviceType
        "on_device": _column(details, attrgetter("device_type")) > 0,
    }


def _external(details: list[EventArguments]) -> Integers:
    return integers(
        [
            one.external if one.external is not None else -1 if one.external_old is None else one.external_old
            for one in details
        ]
    )


def _column(details: list[EventArguments], field: Callable[[EventArguments], Any]) -> Integers:
    return integers([-1 if value is None else value for value in map(field, details)])


_correlation = attrgetter("correlation")
_bytes = attrgetter("bytes")
_TABLES: dict[str, tuple[str, ...]] = {
    "host": tuple(_HOST),
    "calls": _CALLS,
    "device": tuple(_DEVICE),
    "python": _PYTHON,
    "syncs": ("cuda_sync",),
    "memory": (),
}
