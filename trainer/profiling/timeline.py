"""What a timeline is drawn from: streams and host threads of one rank, bounded. Pure."""

from typing import Literal

import numpy as np

from perftui.ipc.trace_report import StepSpan, TimelineLane, TraceTimeline
from perftui.trainer.profiling.grouping import numbered
from perftui.trainer.profiling.host_names import is_loader, step_number
from perftui.trainer.profiling.kernel_names import kernel_class
from perftui.trainer.profiling.nesting import depths
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_builder import Interned
from perftui.trainer.profiling.trace_columns import KERNEL, Flags, Integers

SPAN_LIMIT = 200_000


def timeline(subject: Subject, steps: list[StepSpan], limit: int = SPAN_LIMIT) -> TraceTimeline:
    """Return the spans of the window, streams first; beyond the limit the shortest are left out."""
    drawer = _Drawer(subject, limit)
    lanes = [*drawer.streams(), *drawer.threads()]
    titles: list[tuple[str, str]] = drawer.titles.values()
    return TraceTimeline(
        window_ns=subject.window.length,
        names=[name for name, _ in titles],
        classes=[kind for _, kind in titles],
        lanes=lanes,
        steps=steps,
        left_out=drawer.left_out,
    )


class _Drawer:
    def __init__(self, subject: Subject, limit: int) -> None:
        self.titles = Interned()
        self._waiting = np.concatenate((np.zeros(len(subject.trace.host), np.bool_), subject.waiting_calls))
        self._subject = subject
        trace, window = subject.trace, subject.window
        low, high = min(window.start, window.host_start), max(window.end, window.host_end)
        self._host_start = np.concatenate((trace.host.start, trace.calls.start))
        self._host_end = np.concatenate((trace.host.end, trace.calls.end))
        self._host_name = np.concatenate((trace.host.name, trace.calls.name))
        self._thread = np.concatenate((trace.host.thread, trace.calls.thread))
        self._depth = depths(np.concatenate((subject.links.parent, subject.links.caller)))
        device_inside = (trace.device.end > low) & (trace.device.start < high)
        host_inside = (self._host_end > low) & (self._host_start < high)
        shortest = _shortest_kept(
            np.concatenate(
                (
                    (trace.device.end - trace.device.start)[device_inside],
                    (self._host_end - self._host_start)[host_inside],
                )
            ),
            limit,
        )
        self._device_kept = device_inside & (trace.device.end - trace.device.start >= shortest)
        self._host_kept = host_inside & (self._host_end - self._host_start >= shortest)
        inside = int(device_inside.sum() + host_inside.sum())
        self.left_out = inside - int(self._device_kept.sum() + self._host_kept.sum())

    def streams(self) -> list[TimelineLane]:
        device = self._subject.trace.device
        calls, links = self._subject.trace.calls, self._subject.links
        launched = np.append(calls.start, 0)[links.call] - self._subject.window.start
        kept = np.flatnonzero(self._device_kept)
        lanes: list[TimelineLane] = []
        for number, stream, mine in self._subject.by_stream(kept):
            mine = mine[np.argsort(device.start[mine], kind="stable")]
            lanes.append(
                self._lane(
                    "stream",
                    f"GPU {number} stream {stream}",
                    [
                        self._number(name, kernel_class(self._text(name)) if kind == KERNEL else "copy")
                        for name, kind in zip(
                            device.name[mine].tolist(), device.kind[mine].tolist(), strict=True
                        )
                    ],
                    device.start[mine],
                    device.end[mine],
                    np.zeros(len(mine), np.int64),
                    caller=[self._owner_number(owner) for owner in links.owner[mine].tolist()],
                    launched=[
                        at if call >= 0 else None
                        for at, call in zip(launched[mine].tolist(), links.call[mine].tolist(), strict=True)
                    ],
                )
            )
        return lanes

    def threads(self) -> list[TimelineLane]:
        kept = np.flatnonzero(self._host_kept)
        training = set(self._subject.training_threads.tolist())
        present, _, counts = numbered(self._thread[kept])
        order = sorted(
            zip(present.tolist(), counts.tolist(), strict=True),
            key=lambda one: (one[0] not in training, -one[1]),
        )
        hosts, waiting = len(self._subject.trace.host), self._waiting
        lanes: list[TimelineLane] = []
        for thread, _ in order:
            mine = kept[self._thread[kept] == thread]
            mine = mine[np.lexsort((self._depth[mine], self._host_start[mine]))]
            lanes.append(
                self._lane(
                    "thread",
                    f"thread {self._subject.trace.threads[thread][1]}",
                    [self._host_number(index, hosts, waiting) for index in mine.tolist()],
                    self._host_start[mine],
                    self._host_end[mine],
                    self._depth[mine],
                )
            )
        return lanes

    def _owner_number(self, host: int) -> int | None:
        return None if host < 0 else self._host_number(host, len(self._subject.trace.host), self._waiting)

    def _host_number(self, index: int, hosts: int, waiting: Flags) -> int:
        name = int(self._host_name[index])
        text = self._text(name)
        if index >= hosts:
            return self._number(name, "sync" if waiting[index] else "call")
        if step_number(text) is not None:
            return self._number(name, "step")
        return self._number(name, "loader" if is_loader(text) else "operator")

    def _text(self, name: int) -> str:
        return self._subject.trace.names[name]

    def _number(self, name: int, kind: str) -> int:
        return self.titles.number((self._text(name), kind))

    def _lane(
        self,
        kind: Literal["stream", "thread"],
        title: str,
        names: list[int],
        start: Integers,
        end: Integers,
        depth: Integers,
        caller: list[int | None] | None = None,
        launched: list[int | None] | None = None,
    ) -> TimelineLane:
        return TimelineLane(
            kind=kind,
            title=title,
            name=names,
            start_ns=(start - self._subject.window.start).tolist(),
            duration_ns=(end - start).tolist(),
            depth=depth.tolist(),
            caller=caller or [],
            launched_ns=launched or [],
        )


def _shortest_kept(durations: Integers, limit: int) -> int:
    """Return the duration from which on at most `limit` spans are as long."""
    if len(durations) <= limit:
        return 0
    return int(np.partition(durations, len(durations) - limit - 1)[len(durations) - limit - 1]) + 1
