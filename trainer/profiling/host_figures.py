"""What the host did in the window: loader, optimizer, compilation, and the steps one by one."""

from collections.abc import Callable

import numpy as np

from perftui.ipc.trace_report import CompileFigures, StepSpan
from perftui.trainer.profiling.grouping import among
from perftui.trainer.profiling.host_names import is_compiled, is_compiling, is_optimizer
from perftui.trainer.profiling.intervals import Intervals
from perftui.trainer.profiling.subject import Subject


def loader_share(subject: Subject) -> float | None:
    """Return the share of the host range in which a training thread fetched from a loader.

    None where no fetch was recorded at all: the loop may not use a DataLoader.
    """
    return _share(subject, subject.loader)


def optimizer_share(subject: Subject) -> float | None:
    """Return the share of the host range in optimizers' steps; None where none was recorded."""
    return _share(subject, _marked(subject, is_optimizer, training_only=True))


def compile_figures(subject: Subject) -> CompileFigures | None:
    """Return what torch.compile did in the host range; None for a trace without host events."""
    if not len(subject.trace.host):
        return None
    window = subject.window
    compiling = _marked(subject, is_compiling, training_only=False)
    return CompileFigures(
        compiling_us=compiling.clipped(window.host_start, window.host_end).length / 1000,
        compiled_share=_share(subject, _marked(subject, is_compiled, training_only=True)),
    )


def step_spans(subject: Subject) -> list[StepSpan]:
    """Return the marked steps in order of time."""
    if not subject.window.steps:
        return []
    start = np.array([step.start for step in subject.window.steps], np.int64)
    end = np.array([step.end for step in subject.window.steps], np.int64)
    lasting = np.maximum(end - start, 1)
    fetching = subject.loader.covered(start, end) / lasting if len(subject.loader) else None
    busy = [subject.on(device).covered(start, end) / lasting for device in subject.devices]
    mean_busy = np.mean(np.stack(busy), axis=0) if busy else None
    return [
        StepSpan(
            step=step.number,
            start_us=(step.start - subject.window.start) / 1000,
            duration_us=(step.end - step.start) / 1000,
            device_busy_share=None if mean_busy is None else float(mean_busy[index]),
            loader_share=None if fetching is None else float(fetching[index]),
        )
        for index, step in enumerate(subject.window.steps)
    ]


def _share(subject: Subject, when: Intervals) -> float | None:
    window = subject.window
    if not len(when) or window.host_length <= 0:
        return None
    return when.clipped(window.host_start, window.host_end).length / window.host_length


def _marked(subject: Subject, test: Callable[[str], bool], *, training_only: bool) -> Intervals:
    host = subject.trace.host
    mine = subject.named(host.name, test)
    if training_only:
        mine &= among(host.thread, subject.training_threads)
    return Intervals.union(host.start[mine], host.end[mine])
