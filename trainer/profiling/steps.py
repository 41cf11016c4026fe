"""Which stretch of time a trace's figures cover."""

from dataclasses import dataclass

import numpy as np

from perftui.trainer.profiling.grouping import among, numbered
from perftui.trainer.profiling.host_names import step_number
from perftui.trainer.profiling.trace_columns import Integers, Trace
from perftui.trainer.profiling.trace_links import Links


@dataclass(frozen=True)
class StepMark:
    """One `ProfilerStep#N` of the host."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """Half-open ranges in nanoseconds of the trace's clock.

    The host range runs from the start of the first step to the end of the last; the device lags behind, so
    the window ends with the last work that a step launched. Without step marks the window covers what ran on
    the device, and the host range the host's events.
    """

    start: int
    end: int
    host_start: int
    host_end: int
    steps: tuple[StepMark, ...] = ()
    thread: int | None = None
    """The thread with the step marks."""

    @property
    def length(self) -> int:
        """Of the window, nanoseconds."""
        return self.end - self.start

    @property
    def host_length(self) -> int:
        """Of the host range, nanoseconds."""
        return self.host_end - self.host_start


def find_window(trace: Trace, links: Links) -> Window:
    """Return the window of a trace with at least one span."""
    marks, thread = _marks(trace)
    if not marks:
        return _whole(trace)
    start, end = marks[0].start, max(mark.end for mark in marks)
    launched = np.flatnonzero(links.call >= 0)
    began = trace.calls.start[links.call[launched]]
    ends = trace.device.end[launched[(began >= start) & (began < end)]]
    return Window(start, max(end, _largest(ends, end)), start, end, marks, thread)


def _marks(trace: Trace) -> tuple[tuple[StepMark, ...], int | None]:
    numbers = {
        index: number for index, name in enumerate(trace.names) if (number := step_number(name)) is not None
    }
    host = trace.host
    places = np.flatnonzero(among(host.name, np.array(list(numbers), np.int64)))
    if not len(places):
        return (), None
    threads, _, counts = numbered(host.thread[places])
    thread = int(threads[np.argmax(counts)])
    mine = places[host.thread[places] == thread]
    marks = sorted(
        (int(host.start[place]), int(host.end[place]), numbers[int(host.name[place])]) for place in mine
    )
    return tuple(StepMark(number, start, end) for start, end, number in marks), thread


def _whole(trace: Trace) -> Window:
    host, calls, device = trace.host, trace.calls, trace.device
    starts = np.concatenate((host.start, calls.start))
    ends = np.concatenate((host.end, calls.end))
    if len(device):
        first, last = int(device.start.min()), int(device.end.max())
    else:
        first, last = int(starts.min()), int(ends.max())
    if not len(starts):
        return Window(first, last, first, last)
    return Window(first, last, int(starts.min()), int(ends.max()))


def _largest(values: Integers, otherwise: int) -> int:
    return int(values.max()) if len(values) else otherwise
