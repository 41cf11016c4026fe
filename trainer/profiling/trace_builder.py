"""Sorts decoded events into the columns of a trace."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perftui.ipc.units import MIB
from perftui.trainer.profiling.trace_categories import CATEGORIES, DEVICE_KINDS, TABLE_OF_TYPE
from perftui.trainer.profiling.trace_columns import Collective, Integers
from perftui.trainer.profiling.trace_events import Event, EventArguments
from perftui.trainer.profiling.trace_numbers import are_times, integer, integers, nanoseconds, reals

_BATCH = 1024
"""Events that are turned into columns at once: numpy's calls cost the same for one as for a thousand."""
_NO_ARGUMENTS = EventArguments()
_BITS = re.compile(r"(\d{1,18})$")
_BYTES_OF_TYPE = {
    **dict.fromkeys(("byte", "char", "bool"), 1),
    **dict.fromkeys(("short", "half", "bfloat16"), 2),
    **dict.fromkeys(("int", "float"), 4),
    **dict.fromkeys(("long", "double", "complexfloat"), 8),
}

Columns: TypeAlias = dict[str, npt.NDArray[Any]]


class Interned:
    """Values numbered in the order in which they came."""

    def __init__(self, *values: Hashable) -> None:
        self._numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
        for value in values:
            self.number(value)

    def number(self, value: Hashable) -> int:
        """Return the value's number."""
        return self._numbers[value]

    def numbers(self, values: Iterable[Hashable], count: int) -> Integers:
        """Return the numbers of so many values."""
        return np.fromiter(map(self._numbers.__getitem__, values), np.int64, count)

    def values(self) -> list[Any]:
        """Return the values by number."""
        return list(self._numbers)


class _Appends(dict[Any, Callable[[Event], None]]):
    """What takes the events of a category or type; those of others are forgotten."""

    def __missing__(self, category: object) -> Callable[[Event], None]:
        self[category] = forget = deque[Event](maxlen=0).append
        return forget


@dataclass(frozen=True)
class Gathered:
    """What a builder gathered, in a form that can be sent to another process."""

    tables: dict[str, Columns]
    names: list[Any]
    threads: list[Any]
    shapes: list[Any]
    streams: list[Any]
    collectives: list[Collective]


class TraceBuilder:
    """Takes events in any order; `columns` gives what was gathered."""

    def __init__(self) -> None:
        self.names = Interned()
        self.threads = Interned()
        self.shapes = Interned(b"")
        self.collectives: list[Collective] = []
        self._streams = Interned()
        self._parts: dict[str, list[Columns]] = {table: [] for table in CATEGORIES}
        self._sinks: dict[str, list[Event]] = {table: [] for table in CATEGORIES}
        self._append_by_type = _Appends(
            {kind: self._sinks[table].append for kind, table in TABLE_OF_TYPE.items()}
        )
        self._append_by_category = _Appends(
            {
                category: self._sinks[table].append
                for table, categories in CATEGORIES.items()
                for category in categories
            }
        )

    def add(self, events: Sequence[Event]) -> None:
        """File the events, all with types of their own or all without.

        Those of other categories, or without times, are left out.
        """
        append_by_type, append_by_category = self._append_by_type, self._append_by_category
        if events and type(events[0]) is Event:
            for event in events:
                append_by_category[event.cat](event)
        else:
            for event in events:
                append_by_type[event.__class__](event)
        for table, group in self._sinks.items():
            if len(group) >= _BATCH:
                self._parts[table].append(self._columns_of(table, group))
                group.clear()

    def columns(self, table: str) -> Columns:
        """Return a table's columns and forget them."""
        parts = [*self._parts.pop(table), self._columns_of(table, self._sinks.pop(table))]
        return {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}

    def gathered(self) -> Gathered:
        """Return everything and forget it."""
        return Gathered(
            tables={table: self.columns(table) for table in CATEGORIES},
            names=self.names.values(),
            threads=self.threads.values(),
            shapes=self.shapes.values(),
            streams=self._streams.values(),
            collectives=self.collectives,
        )

    def append(self, other: Gathered) -> None:
        """Put what another builder gathered behind what is here."""
        numbers = {
            "name": self.names.numbers(other.names, len(other.names)),
            "thread": self.threads.numbers(other.threads, len(other.threads)),
            "shapes": self.shapes.numbers(other.shapes, len(other.shapes)),
        }
        streams = -2 - self._streams.numbers(other.streams, len(other.streams))
        for table, columns in other.tables.items():
            for column, known in numbers.items():
                if column in columns:
                    columns[column] = known[columns[column]]
            for column in {"device", "stream"} & columns.keys():
                odd = columns[column] < -1
                columns[column][odd] = streams[-2 - columns[column][odd]]
            if "collective" in columns:
                columns["collective"][columns["collective"] >= 0] += len(self.collectives)
            self._parts[table].append(columns)
        self.collectives += other.collectives

    def _columns_of(self, table: str, group: list[Event]) -> Columns:
        if table == "memory":
            return _memory(group)
        count = len(group)
        pids, tids = [event.pid for event in group], [event.tid for event in group]
        details = [event.args or _NO_ARGUMENTS for event in group]
        start_us = reals(group, _ts)
        duration_us = np.maximum(reals(group, _dur), 0.0)
        usable = are_times(start_us) & are_times(duration_us)
        start = nanoseconds(np.where(usable, start_us, 0.0))
        columns: Columns = {
            "name": self.names.numbers(map(_name, group), count),
            "start": start,
            "end": start + nanoseconds(np.where(usable, duration_us, 0.0)),
        }
        if table in ("host", "calls", "python"):
            columns["thread"] = self._threads_of(pids, tids)
        if table in ("host", "device"):
            columns["external"] = integers(details, _external)
        if table in ("calls", "device", "syncs"):
            columns["correlation"] = integers(details, _correlation)
        if table == "host":
            # no text of JSON holds a NUL; taken apart again they are bytes, at half the cost of `bytes`
            texts = _SEPARATOR.join(map(_shapes, details)).split(_SEPARATOR) if details else []
            columns["shapes"] = self.shapes.numbers(texts, count)
        elif table == "device":
            columns |= self._device(group, details, pids, tids)
        elif table == "syncs":
            columns["stream"] = self._identifiers([one.stream for one in details])
        return columns if usable.all() else {name: column[usable] for name, column in columns.items()}

    def _threads_of(self, pids: list[Any], tids: list[Any]) -> Integers:
        """Return threads by number; a trace has few, so that pairs are made only of those."""
        if pids.count(pids[0]) < len(pids) if pids else True:
            return self.threads.numbers(zip(pids, tids, strict=True), len(pids))
        known = {tid: self.threads.number((pids[0], tid)) for tid in dict.fromkeys(tids)}
        return np.fromiter(map(known.__getitem__, tids), np.int64, len(tids))

    def _device(
        self, group: list[Event], details: list[EventArguments], pids: Sequence[Any], tids: Sequence[Any]
    ) -> Columns:
        devices = [pid if one.device is None else one.device for one, pid in zip(details, pids, strict=True)]
        streams = [tid if one.stream is None else one.stream for one, tid in zip(details, tids, strict=True)]
        return {
            "kind": np.array([DEVICE_KINDS[str(event.cat)] for event in group], np.int8),
            "device": self._identifiers(devices),
            "stream": self._identifiers(streams),
            "bytes": integers(details, _bytes),
            "graph_node": np.array([bool(one.graph_node) for one in details], np.bool_),
            "collective": np.array([self._collective(one) for one in details], np.int64),
            "blocks_per_sm": reals(details, _blocks_per_sm),
            "occupancy_pct": reals(details, _occupancy_pct),
        }

    def _identifiers(self, values: list[Any]) -> Integers:
        """Return device or stream numbers; names that hold none get negative ones."""
        try:
            quick = np.array(values, np.int64)
        except (ValueError, TypeError, OverflowError):
            quick = None
        if quick is None or quick.ndim != 1:
            return np.array([self._identifier(value) for value in values], np.int64)
        return quick

    def _identifier(self, value: object) -> int:
        found = _BITS.search(str(value))
        return int(found[1]) if found is not None else -2 - self._streams.number(str(value))

    def _collective(self, details: EventArguments) -> int:
        if details.collective is None:
            return -1
        self.collectives.append(_collective_of(details))
        return len(self.collectives) - 1


def _collective_of(details: EventArguments) -> Collective:
    sequence = integer(details.sequence)
    elements = max(integer(details.elements_in), integer(details.elements_out))
    kind = str(details.element_type).lower()
    bits = _BITS.search(kind)
    size = _BYTES_OF_TYPE.get(kind) or (int(bits[1]) / 8 if bits else None)
    return Collective(
        name=str(details.collective),
        group=None if details.group is None else str(details.group),
        members=None if details.members is None else str(details.members),
        sequence=sequence if sequence >= 0 else None,
        mib=None if elements < 0 or size is None else elements * size / MIB,
    )


def _memory(points: list[Event]) -> Columns:
    group = [event for event in points if event.name == "[memory]"]
    details = [_NO_ARGUMENTS if event.args is None else event.args for event in group]
    time_us = reals(group, _ts)
    usable = are_times(time_us)
    columns: Columns = {
        "time": nanoseconds(np.where(usable, time_us, 0.0)),
        "bytes": integers(details, attrgetter("allocation_bytes")),
        "allocated": integers(details, attrgetter("allocated_bytes")),
        # 0 is the CPU in c10::DeviceType
        "on_device": integers(details, attrgetter("device_type")) > 0,
    }
    return {name: column[usable] for name, column in columns.items()}


_ts, _dur, _name = attrgetter("ts"), attrgetter("dur"), attrgetter("name")
_external, _correlation = attrgetter("external"), attrgetter("correlation")
_bytes, _shapes = attrgetter("bytes"), attrgetter("shapes")
_blocks_per_sm, _occupancy_pct = attrgetter("blocks_per_sm"), attrgetter("occupancy_pct")
_SEPARATOR = b"\0"
