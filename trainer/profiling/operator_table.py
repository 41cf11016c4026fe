"""Operators: what each took on the host, and on the device by what it launched."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perftui.ipc.trace_report import OPERATOR_LIMIT, CallerFigures, OperatorFigures, ShapeFigures
from perftui.trainer.profiling.grouping import numbered, stable_order
from perftui.trainer.profiling.host_names import frame_place, step_number
from perftui.trainer.profiling.nesting import depths
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import Flags, Integers

_SHAPE_LIMIT = 20
_CALLER_LIMIT = 10
_TOP_LEVEL = "(top level)"


@dataclass(frozen=True)
class _Rows:
    """Host spans that count, parallel columns."""

    span: Integers
    name: Integers
    total: Integers
    """0 for a span inside its namesake, so that totals count no time twice."""
    own: Integers
    device: Integers
    own_device: Integers


def operator_table(subject: Subject, limit: int = OPERATOR_LIMIT) -> list[OperatorFigures]:
    """Return operators and marks that began in the host range, step marks left out, the costliest first."""
    rows = _rows(subject)
    names, inverse, counts = numbered(rows.name)
    if not len(names):
        return []
    total, own, device, own_device = (
        np.bincount(inverse, weights=column, minlength=len(names))
        for column in (rows.total, rows.own, rows.device, rows.own_device)
    )
    with_device = len(subject.trace.device) > 0
    leading = own_device if with_device else own
    whole = max(float(leading.sum()), 1.0)
    order = np.lexsort((-own, -leading))[:limit]
    details = _Details(subject, rows)
    return [
        OperatorFigures(
            name=subject.trace.names[int(names[index])],
            count=int(counts[index]),
            total_us=float(total[index]) / 1000,
            self_us=float(own[index]) / 1000,
            device_us=float(device[index]) / 1000 if with_device else None,
            self_device_us=float(own_device[index]) / 1000 if with_device else None,
            share=float(leading[index]) / whole,
            host_per_device=_ratio(own[index], own_device[index]),
            shapes=details.shapes(int(names[index])),
            callers=details.callers(int(names[index])),
        )
        for index in order.tolist()
    ]


def _ratio(host: float, device: float) -> float | None:
    return float(host) / float(device) if device > 0 else None


def _rows(subject: Subject) -> _Rows:
    host, links, device = subject.trace.host, subject.links, subject.trace.device
    marks = subject.named(host.name, lambda name: step_number(name) is not None)
    span = np.flatnonzero(subject.host_in_window & ~marks)
    owned = links.owner >= 0
    own_device = np.bincount(
        links.owner[owned], weights=(device.end - device.start)[owned], minlength=len(host)
    ).astype(np.int64)
    device_ns = _with_contents(own_device, links.parent)
    outermost = _outermost(host.name, links.parent)
    return _Rows(
        span=span,
        name=host.name[span],
        total=np.where(outermost, host.end - host.start, 0)[span],
        own=links.self_ns[span],
        device=np.where(outermost, device_ns, 0)[span],
        own_device=own_device[span],
    )


def _with_contents(values: Integers, parent: Integers) -> Integers:
    """Return each span's value with those of all that it contains."""
    result = values.copy()
    depth = depths(parent)
    order = stable_order(depth)
    borders = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
    for level in range(len(borders) - 2, 0, -1):
        spans = order[borders[level] : borders[level + 1]]
        np.add.at(result, parent[spans], result[spans])
    return result


def _outermost(name: Integers, parent: Integers) -> Flags:
    """Return whether no span of the same name is around each span."""
    result = np.ones(len(name), np.bool_)
    above = parent.copy()
    while True:
        inner = np.flatnonzero((above >= 0) & result)
        if not len(inner):
            return result
        result[inner] = name[above[inner]] != name[inner]
        above[inner] = parent[above[inner]]


class _Details:
    """Every operator's rows by shapes and by callers."""

    def __init__(self, subject: Subject, rows: _Rows) -> None:
        self._names = subject.trace.names
        self._shape_texts = subject.trace.shapes
        self._with_device = len(subject.trace.device) > 0
        self._by_frame = len(subject.trace.python) > 0
        if self._by_frame:
            callers = subject.frame_shown[subject.links.host_frame[rows.span]]
        else:
            callers = np.append(subject.trace.host.name, -1)[subject.links.parent[rows.span]]
        self._shapes = _grouped(rows, subject.trace.host.shapes[rows.span])
        self._callers = _grouped(rows, callers)

    def shapes(self, name: int) -> list[ShapeFigures]:
        recorded = [group for group in self._shapes.get(name, []) if group.key > 0]
        largest = sorted(recorded, key=lambda one: (-one.device, -one.own))[:_SHAPE_LIMIT]
        return [
            ShapeFigures(
                shapes=self._shape_texts[group.key],
                count=group.calls,
                self_us=group.own / 1000,
                device_us=group.device / 1000 if self._with_device else None,
            )
            for group in largest
        ]

    def callers(self, name: int) -> list[CallerFigures]:
        sums: dict[str, tuple[int, float, float]] = {}
        for group in self._callers.get(name, []):
            title = self._title(group.key)
            count, total, device = sums.get(title, (0, 0.0, 0.0))
            sums[title] = count + group.calls, total + group.total, device + group.device
        found = [
            CallerFigures(
                caller=title,
                count=count,
                total_us=total / 1000,
                device_us=device / 1000 if self._with_device else None,
            )
            for title, (count, total, device) in sums.items()
        ]
        return sorted(found, key=lambda one: (-one.total_us, one.caller))[:_CALLER_LIMIT]

    def _title(self, name: int) -> str:
        text = self._names[name] if name >= 0 else ""
        if self._by_frame:
            return frame_place(text) or _TOP_LEVEL
        return _TOP_LEVEL if not text or step_number(text) is not None else text


class _Group(NamedTuple):
    """Rows with one name and one key, summed."""

    key: int
    calls: int
    total: float
    own: float
    device: float


def _grouped(rows: _Rows, keys: Integers) -> dict[int, list[_Group]]:
    """Return the rows by name and key."""
    width = int(keys.max(initial=0)) + 2
    both, inverse, counts = numbered(rows.name * width + keys + 1)
    columns = [counts.tolist()]
    columns += [
        np.bincount(inverse, weights=column, minlength=len(both)).tolist()
        for column in (rows.total, rows.own, rows.device)
    ]
    result: dict[int, list[_Group]] = {}
    for combined, *sums in zip(both.tolist(), *columns, strict=True):
        result.setdefault(combined // width, []).append(_Group(combined % width - 1, *sums))
    return result
