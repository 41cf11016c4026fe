"""The largest gaps, with names: what the host was in, and what ended them."""

import numpy as np

from perftui.ipc.trace_report import GapKind, IdleGap
from perftui.trainer.profiling.host_at import HostAt
from perftui.trainer.profiling.idle_gaps import Gaps
from perftui.trainer.profiling.subject import Subject

GAP_LIMIT = 200


def gap_list(subject: Subject, gaps: Gaps, looker: HostAt) -> list[IdleGap]:
    """Return the largest gaps, largest first."""
    order = np.lexsort((gaps.start, gaps.start - gaps.end))[:GAP_LIMIT]
    kinds = gaps.kind
    return [_gap(subject, gaps, looker, int(index), kinds[int(index)]) for index in order]


def _gap(subject: Subject, gaps: Gaps, looker: HostAt, index: int, kind: GapKind) -> IdleGap:
    start, end, following = int(gaps.start[index]), int(gaps.end[index]), int(gaps.next[index])
    device = subject.trace.device
    thread = launching_thread(subject, following)
    return IdleGap(
        start_us=(start - subject.window.start) / 1000,
        duration_us=(end - start) / 1000,
        kind=kind,
        host=None if thread is None else looker.most_of(thread, start, end),
        before=None if following < 0 else subject.trace.names[int(device.name[following])],
        step=step_at(subject, start),
        device=int(gaps.device[index]),
    )


def launching_thread(subject: Subject, device_span: int) -> int | None:
    """Return the thread that launched a device span; without a launch the first training thread."""
    call = int(subject.links.call[device_span]) if device_span >= 0 else -1
    if call >= 0:
        return int(subject.trace.calls.thread[call])
    threads = subject.training_threads
    return int(threads[0]) if len(threads) else None


def step_at(subject: Subject, time: int) -> int | None:
    """Return the number of the step whose mark holds a time."""
    return next((step.number for step in subject.window.steps if step.start <= time < step.end), None)
