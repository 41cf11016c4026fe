"""Allocations that reached the device's driver, and the churn above them where memory was recorded."""

import numpy as np

from perftui.ipc.trace_report import AllocatorFigures
from perftui.ipc.units import MIB
from perftui.trainer.profiling.call_names import allocates, frees
from perftui.trainer.profiling.subject import Subject


def allocator_figures(subject: Subject) -> AllocatorFigures | None:
    """Return the figures of the host range; None where neither calls nor memory were recorded."""
    calls, memory = subject.trace.calls, subject.trace.memory
    if not len(calls) and not len(memory):
        return None
    taken = subject.named(calls.name, allocates) & subject.calls_in_window
    given = subject.named(calls.name, frees) & subject.calls_in_window
    both = taken | given
    peak_mib, per_step_mib = _recorded(subject)
    asked = len(calls) > 0
    return AllocatorFigures(
        device_allocations=int(taken.sum()) if asked else None,
        device_frees=int(given.sum()) if asked else None,
        total_us=float((calls.end - calls.start)[both].sum()) / 1000 if asked else None,
        peak_mib=peak_mib,
        allocated_mib_per_step=per_step_mib,
    )


def _recorded(subject: Subject) -> tuple[float | None, float | None]:
    memory, window = subject.trace.memory, subject.window
    mine = memory.on_device & (memory.time >= window.host_start) & (memory.time < window.host_end)
    if not mine.any():
        return None, None
    peak = int(memory.allocated[mine].max())
    allocated = int(np.maximum(memory.bytes[mine], 0).sum())
    return (peak / MIB if peak >= 0 else None), subject.per_step(allocated / MIB)
