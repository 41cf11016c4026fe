"""Which stretch of time a trace's figures cover, and how much of it the loader and the device took."""

from collections import Counter
from dataclasses import dataclass

from perftui.trainer.profiling.nesting import Nesting
from perftui.trainer.profiling.trace_columns import StepMarks, Trace

LOADER_PREFIX = "enumerate(DataLoader)"
"""What torch names the span around a DataLoader iterator's `__next__` in the training thread."""


@dataclass(frozen=True)
class Window:
    """Half-open ranges in nanoseconds of the trace's clock.

    The host range runs from the start of the first step to the end of the last; the device lags behind, so
    its range ends with the last work that a step launched. Without step marks both cover the whole trace.
    """

    host_start_ns: int
    host_end_ns: int
    device_start_ns: int
    device_end_ns: int
    steps: int | None
    """None where the trace has no step marks."""
    thread: int | None
    """The thread with the step marks."""

    @property
    def host_ns(self) -> int:
        """Length of the host range."""
        return self.host_end_ns - self.host_start_ns

    @property
    def device_ns(self) -> int:
        """Length of the device range."""
        return self.device_end_ns - self.device_start_ns


def find_window(trace: Trace, nesting: Nesting) -> Window:
    """Return the window of a trace with at least one span."""
    if len(trace.steps) == 0:
        return _whole(trace)
    marks = trace.steps
    ((thread, _),) = Counter(marks.thread).most_common(1)
    start, end, steps = _marked(marks, thread)
    device_end = max(
        (
            device_end
            for device_end, launched in zip(trace.device.end_ns, nesting.launched_ns, strict=True)
            if start <= launched < end
        ),
        default=end,
    )
    return Window(start, end, start, max(end, device_end), steps, thread)


def _marked(marks: StepMarks, thread: int) -> tuple[int, int, int]:
    mine = [index for index, other in enumerate(marks.thread) if other == thread]
    start = min(marks.start_ns[index] for index in mine)
    return start, max(marks.end_ns[index] for index in mine), len(mine)


def _whole(trace: Trace) -> Window:
    host, device = trace.host, trace.device
    starts, ends = host.start_ns or trace.calls.start_ns, host.end_ns or trace.calls.start_ns
    if len(device) == 0:
        return Window(min(starts), max(ends), min(starts), max(ends), None, None)
    first, last = min(device.start_ns), max(device.end_ns)
    if not starts:
        return Window(first, last, first, last, None, None)
    return Window(min(starts), max(ends), first, last, None, None)


def loader_share(trace: Trace, window: Window) -> float | None:
    """Return the share of the host range inside loader fetches of the training thread.

    None where no fetch was recorded at all: the loop may not use a DataLoader.
    """
    host = trace.host
    fetches = [
        index
        for index, name in enumerate(host.name)
        if name.startswith(LOADER_PREFIX) and (window.thread is None or host.thread[index] == window.thread)
    ]
    if not fetches or window.host_ns <= 0:
        return None
    spans = [(host.start_ns[index], host.end_ns[index]) for index in fetches]
    return union_ns(spans, window.host_start_ns, window.host_end_ns) / window.host_ns


def device_busy_share(trace: Trace, window: Window) -> float | None:
    """Return the share of the device range in which at least one kernel or copy ran; None without any."""
    if len(trace.device) == 0 or window.device_ns <= 0:
        return None
    spans = list(zip(trace.device.start_ns, trace.device.end_ns, strict=True))
    return union_ns(spans, window.device_start_ns, window.device_end_ns) / window.device_ns


def union_ns(spans: list[tuple[int, int]], low_ns: int, high_ns: int) -> int:
    """Return the length of the union of half-open spans within [low_ns, high_ns)."""
    total, reached = 0, low_ns
    for start, end in sorted(spans):
        begin, finish = max(start, reached), min(end, high_ns)
        if finish > begin:
            total += finish - begin
            reached = finish
    return total
