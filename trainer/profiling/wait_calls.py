"""Calls that made the host wait for the device, by call and place."""

from collections.abc import Iterator

import numpy as np

from perftui.ipc.trace_report import SyncFigures
from perftui.trainer.profiling.host_names import step_number
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import Integers

SYNC_LIMIT = 100


def wait_calls(subject: Subject, drained_ns: Integers) -> list[SyncFigures]:
    """Return them, those that took longest first.

    Args:
        subject: the trace.
        drained_ns: of each call, how long the device was idle for the host after it had run dry in the call.
    """
    sums: dict[tuple[str, str | None, str | None], list[int]] = {}
    for key, lasting_ns, call in _calls(subject):
        entry = sums.setdefault(key, [0, 0, 0])
        entry[0] += 1
        entry[1] += lasting_ns
        entry[2] += int(drained_ns[call])
    host_ns = max(subject.window.host_length, 1)
    found = [
        SyncFigures(
            call=call,
            operator=operator,
            where=where,
            count=count,
            per_step=subject.per_step(count),
            total_us=total_ns / 1000,
            share=total_ns / host_ns,
            drained_us=idle_ns / 1000,
        )
        for (call, operator, where), (count, total_ns, idle_ns) in sums.items()
    ]
    return sorted(found, key=lambda figures: (-figures.total_us, figures.call))[:SYNC_LIMIT]


def _calls(subject: Subject) -> Iterator[tuple[tuple[str, str | None, str | None], int, int]]:
    trace, links = subject.trace, subject.links
    for call in np.flatnonzero(subject.waiting_calls & subject.calls_in_window).tolist():
        around = int(links.caller[call])
        operator = None if around < 0 else trace.names[int(trace.host.name[around])]
        if operator is not None and step_number(operator) is not None:
            operator = None  # else a call in the loop itself would be another one in each step
        where = subject.frame_text(int(links.call_frame[call]))
        lasting_ns = int(trace.calls.end[call] - trace.calls.start[call])
        yield (trace.names[int(trace.calls.name[call])], operator, where), lasting_ns, call
