"""How far the host was ahead of each stream: launched and not yet started, as a step function of time."""

import numpy as np

from perftui.ipc.trace_report import QueueFigures
from perftui.trainer.profiling.grouping import numbered
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.thresholds import QUEUE_FULL
from perftui.trainer.profiling.trace_columns import Integers


def queue_depths(subject: Subject) -> list[QueueFigures]:
    """Return the depth by stream: plus one at the start of a launch, minus one at the start on the device.

    The mean is weighted with time (HTA's is over events). What was launched before the trace began is not
    in it. A graph counts once on each stream that it runs on.
    """
    device, call = subject.trace.device, subject.links.call
    linked = np.flatnonzero(call >= 0)
    result: list[QueueFigures] = []
    for number, stream, mine in subject.by_stream(linked):
        calls, inverse, _ = numbered(call[mine])
        first = np.full(len(calls), np.iinfo(np.int64).max)
        np.minimum.at(first, inverse, device.start[mine])
        result.append(_depth(subject, number, stream, subject.trace.calls.start[calls], first))
    return result


def _depth(subject: Subject, device: int, stream: int, asked: Integers, began: Integers) -> QueueFigures:
    window = subject.window
    began = np.maximum(began, asked)  # clocks that disagree must not make a depth below zero
    times = np.concatenate((asked, began))
    order = np.argsort(times, kind="stable")
    depth = np.cumsum(np.repeat(np.array([1, -1]), len(asked))[order])
    times = np.clip(times[order], window.start, window.end)
    lasting = np.diff(np.append(times, window.end))
    inside = lasting > 0
    return QueueFigures(
        device=device,
        stream=stream,
        mean_depth=float((depth * lasting).sum()) / max(window.length, 1),
        max_depth=int(depth[inside].max(initial=0)),
        full_share=float(lasting[depth >= QUEUE_FULL].sum()) / max(window.length, 1),
    )
