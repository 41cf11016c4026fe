"""What a host thread was in at a moment."""

import itertools

import numpy as np

from perftui.trainer.profiling.host_names import step_number
from perftui.trainer.profiling.subject import Subject


class HostAt:
    """Looks up host spans, calls and frames by thread and time."""

    def __init__(self, subject: Subject) -> None:
        trace = subject.trace
        self._subject = subject
        self._hosts = len(trace.host)
        self._start = np.concatenate((trace.host.start, trace.calls.start))
        self._end = np.concatenate((trace.host.end, trace.calls.end))
        self._name = np.concatenate((trace.host.name, trace.calls.name))
        self._parent = np.concatenate((subject.links.parent, subject.links.caller))
        thread = np.concatenate((trace.host.thread, trace.calls.thread))
        order = np.lexsort((-self._end, self._start, thread))
        borders = np.searchsorted(thread[order], np.arange(len(trace.threads) + 1))
        self._by_thread = [order[low:high] for low, high in itertools.pairwise(borders)]
        frames = np.lexsort((-trace.python.end, trace.python.start, trace.python.thread))
        borders = np.searchsorted(trace.python.thread[frames], np.arange(len(trace.threads) + 1))
        self._frames = [frames[low:high] for low, high in itertools.pairwise(borders)]

    def most_of(self, thread: int, start: int, end: int) -> str | None:
        """Return the innermost span that fills more than half of [start, end), else the user's frame.

        What fills more than half also holds the middle: only spans around that are looked at. Step marks
        hold everything and tell nothing.
        """
        middle = (start + end) // 2
        mine = self._by_thread[thread]
        place = int(np.searchsorted(self._start[mine], middle, side="right")) - 1
        index = int(mine[place]) if place >= 0 else -1
        while index >= 0:
            covered = min(int(self._end[index]), end) - max(int(self._start[index]), start)
            name = self._subject.trace.names[int(self._name[index])]
            if covered * 2 > end - start and step_number(name) is None:
                return name
            index = int(self._parent[index])
        return self.frame(thread, middle)

    def frame(self, thread: int, time: int) -> str | None:
        """Return the innermost frame of the user's code at a time, as `file:line function`."""
        mine, python = self._frames[thread], self._subject.trace.python
        place = int(np.searchsorted(python.start[mine], time, side="right")) - 1
        index = int(mine[place]) if place >= 0 else -1
        while index >= 0 and python.end[index] <= time:
            index = int(self._subject.links.frame_parent[index])
        return self._subject.frame_text(index)
