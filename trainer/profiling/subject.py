"""A trace with what every figure needs of it: links, window, and what lies where, worked out once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perftui.trainer.profiling.call_names import is_blocking_copy, waits
from perftui.trainer.profiling.frame_files import known_by_name
from perftui.trainer.profiling.grouping import among, distinct
from perftui.trainer.profiling.host_names import frame_file, frame_place, is_loader
from perftui.trainer.profiling.intervals import Intervals, selected
from perftui.trainer.profiling.kernel_names import is_communication
from perftui.trainer.profiling.nesting import nearest
from perftui.trainer.profiling.steps import Window, find_window
from perftui.trainer.profiling.trace_columns import KERNEL, Flags, Integers, Trace
from perftui.trainer.profiling.trace_links import Links, link


@dataclass(frozen=True)
class Subject:
    """One rank's trace, prepared. Made by `prepare`."""

    trace: Trace
    links: Links
    window: Window
    installed: Callable[[str], bool] = known_by_name
    """Whether a file of a frame is not the user's."""

    def named(self, name: Integers, test: Callable[[str], object]) -> Flags:
        """Return whether each of the names (indices) passes the test."""
        names = self.trace.names
        used = np.zeros(len(names), np.bool_)
        used[name] = True
        passed = np.zeros(len(names), np.bool_)
        for index in np.flatnonzero(used).tolist():
            passed[index] = bool(test(names[index]))
        result: Flags = passed[name]
        return result

    @cached_property
    def steps(self) -> int | None:
        """How many steps are marked; None without marks."""
        return len(self.window.steps) or None

    @cached_property
    def devices(self) -> list[int]:
        """Devices with work in the window."""
        return [int(number) for number in distinct(self.trace.device.device[self.in_window])]

    @cached_property
    def in_window(self) -> Flags:
        """Device spans that began in the window."""
        start = self.trace.device.start
        inside: Flags = (start >= self.window.start) & (start < self.window.end)
        return inside

    @cached_property
    def communicates(self) -> Flags:
        """Device spans that are communication kernels."""
        device = self.trace.device
        chosen: Flags = (device.kind == KERNEL) & self.named(device.name, is_communication)
        return chosen

    @cached_property
    def host_in_window(self) -> Flags:
        """Host spans that began in the host range."""
        return self._in_host_range(self.trace.host.start)

    @cached_property
    def calls_in_window(self) -> Flags:
        """Calls that began in the host range."""
        return self._in_host_range(self.trace.calls.start)

    def _in_host_range(self, start: Integers) -> Flags:
        inside: Flags = (start >= self.window.host_start) & (start < self.window.host_end)
        return inside

    @cached_property
    def training_threads(self) -> Integers:
        """The thread with the step marks; without marks those that launch device work, else all."""
        if self.window.thread is not None:
            return np.array([self.window.thread], np.int64)
        launching = distinct(self.trace.calls.thread[self.links.call[self.links.call >= 0]])
        return launching if len(launching) else distinct(self.trace.host.thread)

    @cached_property
    def loader(self) -> Intervals:
        """When a training thread was in a loader's fetch."""
        host = self.trace.host
        mine = self.named(host.name, is_loader) & among(host.thread, self.training_threads)
        return Intervals.union(host.start[mine], host.end[mine])

    @cached_property
    def waiting_calls(self) -> Flags:
        """Calls that make the host wait for the device: synchronisations, and copies that block.

        A copy to or from pageable memory blocks also where the call is an asynchronous one. Threads that
        launch nothing, as those that watch collectives, are left out.
        """
        calls, device = self.trace.calls, self.trace.device
        blocking = self.named(calls.name, lambda name: waits(name) or is_blocking_copy(name))
        pageable = self.named(device.name, lambda name: "pageable" in name.lower()) & (self.links.call >= 0)
        blocking[self.links.call[pageable]] = True
        launching = distinct(calls.thread[self.links.call[self.links.call >= 0]])
        return blocking & among(calls.thread, np.concatenate((launching, self.training_threads)))

    @cached_property
    def staging_calls(self) -> Flags:
        """Waiting calls that copy from pageable memory to the device: they drain the stream, then stage."""
        device, calls = self.trace.device, self.trace.calls
        result = np.zeros(len(calls), np.bool_)
        from_pageable = self.named(device.name, lambda name: "(Pageable ->" in name) & (self.links.call >= 0)
        result[self.links.call[from_pageable]] = True
        return result & self.waiting_calls

    @cached_property
    def waits(self) -> Intervals:
        """When the host stood in a call that waits for the device."""
        calls, mine = self.trace.calls, self.waiting_calls
        return Intervals.union(calls.start[mine], calls.end[mine])

    @cached_property
    def frame_shown(self) -> Integers:
        """Python frame → the name (index) of the innermost frame of the user's code, itself included.

        Torch's own innermost frame where no user's is around; -1 where there is no frame with a line.
        """
        python, parent = self.trace.python, self.links.frame_parent
        result = np.full(len(python) + 1, -1, np.int64)
        place = np.arange(len(python))
        for test in (frame_place, self._is_users_frame):
            fits = self.named(python.name, test)
            found = np.where(fits, place, nearest(parent, fits))
            result[:-1] = np.where(found >= 0, np.append(python.name, -1)[found], result[:-1])
        return result

    def _is_users_frame(self, name: str) -> bool:
        file = frame_file(name)
        return file is not None and not self.installed(file)

    def frame_text(self, frame: int) -> str | None:
        """Return `file:line function` to show for a frame (index; -1: none)."""
        shown = int(self.frame_shown[frame])
        return None if shown < 0 else frame_place(self.trace.names[shown])

    def by_stream(self, spans: Integers) -> list[tuple[int, int, Integers]]:
        """Return device, stream and which of the device spans (indices) ran there, in order of both."""
        device = self.trace.device
        order = np.lexsort((device.stream[spans], device.device[spans]))
        ordered = spans[order]
        changes = (np.diff(device.device[ordered]) != 0) | (np.diff(device.stream[ordered]) != 0)
        return [
            (int(device.device[mine[0]]), int(device.stream[mine[0]]), mine)
            for mine in np.split(ordered, np.flatnonzero(changes) + 1)
            if len(mine)
        ]

    def on(self, device: int, chosen: Flags | None = None) -> Intervals:
        """Return when the device ran (chosen) spans, within the window."""
        spans = self.trace.device
        mine = spans.device == device
        if chosen is not None:
            mine &= chosen
        return selected(spans.start[mine], spans.end[mine], self.window.start, self.window.end)

    def per_step(self, count: float) -> float | None:
        """Return a count by step; None without marks."""
        return None if self.steps is None else count / self.steps


def prepare(trace: Trace, installed: Callable[[str], bool] = known_by_name) -> Subject:
    """Prepare a trace with at least one span.

    Args:
        trace: as read.
        installed: whether a file, as torch writes it in frames, is not the user's.
    """
    links = link(trace)
    return Subject(trace, links, find_window(trace, links), installed)
