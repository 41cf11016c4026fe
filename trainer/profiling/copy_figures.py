"""Copies and fills by kind, with their rate and what they did not hide."""

import numpy as np

from perftui.ipc.trace_report import CopyFigures
from perftui.ipc.units import MIB
from perftui.trainer.profiling.grouping import distinct
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import KERNEL, Flags

_GIB = 1 << 30


def copy_figures(subject: Subject) -> list[CopyFigures]:
    """Return the copies and fills that began in the window, by kind, the longest first."""
    device = subject.trace.device
    copies = subject.in_window & (device.kind != KERNEL)
    found = [_figures(subject, int(name)) for name in distinct(device.name[copies]).tolist()]
    return sorted(found, key=lambda figures: (-figures.total_us, figures.kind))


def _figures(subject: Subject, name: int) -> CopyFigures:
    device, text = subject.trace.device, subject.trace.names[name]
    named = (device.name == name) & (device.kind != KERNEL)
    mine = np.flatnonzero(named & subject.in_window)
    total_ns = int((device.end - device.start)[mine].sum())
    sized = mine[device.bytes[mine] >= 0]
    size, sized_ns = int(device.bytes[sized].sum()), int((device.end - device.start)[sized].sum())
    calls = distinct(subject.links.call[mine])
    calls = calls[calls >= 0]
    return CopyFigures(
        kind=text.removeprefix("Memcpy "),
        pageable=is_pageable(text),
        count=len(mine),
        total_us=total_ns / 1000,
        mib=size / MIB if len(sized) else None,
        gib_s=size / _GIB / (sized_ns / 1e9) if sized_ns > 0 else None,
        exposed_us=sum(_exposed_ns(subject, number, named) for number in subject.devices) / 1000,
        per_step=subject.per_step(len(mine)),
        call_us=float((subject.trace.calls.end - subject.trace.calls.start)[calls].sum()) / 1000
        if len(calls)
        else None,
    )


def _exposed_ns(subject: Subject, device: int, named: Flags) -> int:
    kernels = subject.on(device, subject.trace.device.kind == KERNEL)
    return (subject.on(device, named) - kernels).length


def is_pageable(name: str) -> bool | None:
    """Return whether a copy has pageable memory on its host side; None: its name does not tell.

    ROCm names the sides only `Host` and `Device`.
    """
    if "Pageable" in name:
        return True
    return None if "Host" in name or ("->" not in name and not name.startswith("Memset")) else False
