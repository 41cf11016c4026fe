"""What a host thread was in at a moment."""

import itertools

import numpy as np

from perftui.trainer.profiling.host_names import step_number
from perftui.trainer.profiling.nesting import outer_first
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import Integers


class HostAt:
    """Looks up host spans, calls and frames by thread and time."""

    def __init__(self, subject: Subject) -> None:
        trace = subject.trace
        self._subject = subject
        self._start = np.concatenate((trace.host.start, trace.calls.start))
        self._end = np.concatenate((trace.host.end, trace.calls.end))
        self._name = np.concatenate((trace.host.name, trace.calls.name))
        self._parent = np.concatenate((subject.links.parent, subject.links.caller))
        thread = np.concatenate((trace.host.thread, trace.calls.thread))
        order = outer_first(thread, self._start, self._end)
        borders = np.searchsorted(thread[order], np.arange(len(trace.threads) + 1))
        self._by_thread = [
            (order[low:high], self._start[order[low:high]]) for low, high in itertools.pairwise(borders)
        ]
        frames = outer_first(trace.python.thread, trace.python.start, trace.python.end)
        borders = np.searchsorted(trace.python.thread[frames], np.arange(len(trace.threads) + 1))
        self._frames = [
            (frames[low:high], trace.python.start[frames[low:high]])
            for low, high in itertools.pairwise(borders)
        ]

    def most_of(self, thread: int, start: int, end: int) -> str | None:
        """Return the innermost span that fills more than half of [start, end), else the user's frame.

        What fills more than half also holds the middle: only spans around that are looked at. Step marks
        hold everything and tell nothing.
        """
        middle = (start + end) // 2
        index = _last_begun(self._by_thread[thread], middle)
        while index >= 0:
            covered = min(self._end.item(index), end) - max(self._start.item(index), start)
            if covered * 2 > end - start:
                name = self._subject.trace.names[self._name.item(index)]
                if step_number(name) is None:
                    return name
            index = self._parent.item(index)
        return self.frame(thread, middle)

    def frame(self, thread: int, time: int) -> str | None:
        """Return the innermost frame of the user's code at a time, as `file:line function`."""
        python = self._subject.trace.python
        index = _last_begun(self._frames[thread], time)
        while index >= 0 and python.end[index] <= time:
            index = int(self._subject.links.frame_parent[index])
        return self._subject.frame_text(index)


def _last_begun(spans: tuple[Integers, Integers], time: int) -> int:
    """Return the last of the spans (indices, starts; sorted) to begin until a time; -1: none has."""
    indices, starts = spans
    place = int(np.searchsorted(starts, time, side="right")) - 1
    return indices.item(place) if place >= 0 else -1
