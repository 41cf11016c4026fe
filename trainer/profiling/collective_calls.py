"""A rank's collectives: what ran on its device, in an order by which ranks can be matched."""

from dataclasses import dataclass

import numpy as np

from perftui.ipc.trace_report import CollectiveFigures
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import KERNEL, Collective

_POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv"})
_NO_COLLECTIVE_FOR_SURE = ("SendRecv", "Generic")
"""In names of kernels: NCCL's for sends and receives, on which torch writes nothing where they are batched as
pipelines batch them, and RCCL's for anything at all."""


@dataclass(frozen=True)
class CollectiveCall:
    """One collective on one rank."""

    name: str
    group: str | None
    members: str | None
    sequence: int | None
    """torch's number of the collective within its group; traces have it since torch 2.13."""
    start_ns: int
    """From the window's start."""
    duration_ns: int


def collective_calls(subject: Subject) -> list[CollectiveCall]:
    """Return the collectives that began in the window in order of time.

    Sends and receives are left out: a stage of a pipeline ends its own without the others.
    """
    device = subject.trace.device
    mine = np.flatnonzero(subject.in_window & subject.communicates)
    result: list[CollectiveCall] = []
    for span in mine[np.argsort(device.start[mine], kind="stable")].tolist():
        known = _identity(subject, span)
        if _is_collective(known.name):
            start, end = int(device.start[span]), int(device.end[span])
            result.append(
                CollectiveCall(
                    known.name,
                    known.group,
                    known.members,
                    known.sequence,
                    start - subject.window.start,
                    end - start,
                )
            )
    return result


def _is_collective(name: str) -> bool:
    """Tell from torch's name, or from the kernel's where torch wrote none."""
    return name not in _POINT_TO_POINT and not any(word in name for word in _NO_COLLECTIVE_FOR_SURE)


def _identity(subject: Subject, span: int) -> Collective:
    """Return what torch wrote on the kernel; the kernel's own name where it wrote nothing."""
    number = int(subject.trace.device.collective[span])
    if number >= 0:
        return subject.trace.collectives[number]
    name = subject.trace.names[int(subject.trace.device.name[span])]
    return Collective(name.split("(")[0], None, None, None, None)


def collective_figures(subject: Subject) -> list[CollectiveFigures]:
    """Return the communication of the window by name and group, the longest first."""
    device = subject.trace.device
    mine = np.flatnonzero(subject.in_window & subject.communicates)
    spans: dict[tuple[str, str | None], list[int]] = {}
    mib: dict[tuple[str, str | None], float | None] = {}
    for span in mine.tolist():
        one = _identity(subject, span)
        key = one.name, one.group
        spans.setdefault(key, []).append(span)
        sum_mib = mib.get(key, 0.0)
        mib[key] = None if one.mib is None or sum_mib is None else sum_mib + one.mib
    found = [
        CollectiveFigures(
            name=name,
            group=group,
            count=len(members),
            total_us=float((device.end - device.start)[members].sum()) / 1000,
            exposed_us=_exposed_us(subject, members),
            mib=mib[name, group],
        )
        for (name, group), members in spans.items()
    ]
    return sorted(found, key=lambda figures: (-figures.total_us, figures.name))


def _exposed_us(subject: Subject, members: list[int]) -> float:
    device = subject.trace.device
    chosen = np.zeros(len(device), np.bool_)
    chosen[members] = True
    computing = (device.kind == KERNEL) & ~subject.communicates
    return (
        sum((subject.on(number, chosen) - subject.on(number, computing)).length for number in subject.devices)
        / 1000
    )
