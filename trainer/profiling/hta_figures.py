"""The same trace by the conventions of Holistic Trace Analysis 0.5.0, so that the two can be held together.

All steps are kept, nanoseconds are kept, and time runs from the first start to the last end on the device.
Where our own definitions differ is said in docs/profiling.md.
"""

import re

import numpy as np

from perftui.ipc.trace_report import HtaFigures
from perftui.trainer.profiling.grouping import among, quantile
from perftui.trainer.profiling.intervals import Intervals
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import Flags, Integers

_COMMUNICATION = re.compile(r"^nccl.*Kernel")
_MEMORY = re.compile(r"^Memcpy|^Memset|^dma")
_NOT_COMPUTATION = re.compile(r"^nccl.*Kernel|.*Memcpy|^Memset|.*Sync")
_LAUNCHES = frozenset({"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"})
_KERNEL_WAIT_NS = 30_000
_SLOW_CALL_NS = 50_000
_LONG_DELAY_NS = 100_000


def hta_figures(subject: Subject) -> HtaFigures | None:
    """Return the figures; None without device work."""
    device = subject.trace.device
    kept = _kept(subject, device.correlation)
    if not kept.any():
        return None
    name, start, end = _with_syncs(subject, kept)
    everything = Intervals.union(start, end)
    computing = subject.named(name, _computes)
    communicating = subject.named(name, lambda text: _COMMUNICATION.match(text) is not None)
    compute = Intervals.union(start[computing], end[computing])
    communication = Intervals.union(start[communicating], end[communicating])
    whole = max(int(end.max() - start.min()), 1)
    idle = whole - everything.length
    both = (compute & communication).length
    return HtaFigures(
        idle_pct=100.0 * idle / whole,
        compute_pct=100.0 * compute.length / whole,
        non_compute_pct=100.0 * (whole - idle - compute.length) / whole,
        overlap_pct=100.0 * both / communication.length if communication.length else None,
        idle_classes=_idle_classes(subject, kept),
        launch_stats=_launch_stats(subject, kept),
    )


def _computes(text: str) -> bool:
    return (
        _COMMUNICATION.match(text) is None
        and _MEMORY.match(text) is None
        and not _NOT_COMPUTATION.match(text)
    )


def _kept(subject: Subject, correlation: Integers) -> Flags:
    """Return which device events HTA keeps: of several steps, those with a host event until the last ends."""
    trace = subject.trace
    if len({step.number for step in subject.window.steps}) < 2:
        return np.ones(len(correlation), np.bool_)
    last = max(step.end for step in subject.window.steps)
    launched = trace.calls.correlation[trace.calls.start <= last]
    return among(correlation, launched[launched > 0])


def _with_syncs(subject: Subject, kept: Flags) -> tuple[Integers, Integers, Integers]:
    """Return name, start and end of device events and of waits on streams, which HTA takes for work."""
    device, syncs = subject.trace.device, subject.trace.syncs
    waiting = (syncs.stream >= 0) & _kept(subject, syncs.correlation)
    return (
        np.concatenate((device.name[kept], syncs.name[waiting])),
        np.concatenate((device.start[kept], syncs.start[waiting])),
        np.concatenate((device.end[kept], syncs.end[waiting])),
    )


def _idle_classes(subject: Subject, kept: Flags) -> dict[str, dict[str, float]]:
    """Return microseconds of gaps by stream: launched too late, close behind, other.

    Overlaps count as negative gaps, as HTA has it.
    """
    device, call = subject.trace.device, subject.links.call
    launched = np.where(call >= 0, np.append(subject.trace.calls.start, 0)[call], np.iinfo(np.int64).min)
    result: dict[str, dict[str, float]] = {}
    for stream in dict.fromkeys(device.stream[kept].tolist()):
        mine = np.flatnonzero(kept & (device.stream == stream))
        mine = mine[np.argsort(device.start[mine], kind="stable")]
        gap = device.start[mine][1:] - device.end[mine][:-1]
        late = launched[mine][1:] > device.end[mine][:-1]
        close = ~late & (gap < _KERNEL_WAIT_NS)
        result[str(stream)] = {
            "host_wait": float(gap[late].sum()) / 1000,
            "kernel_wait": float(gap[close].sum()) / 1000,
            "other": float(gap[~late & ~close].sum()) / 1000,
        }
    return result


def _launch_stats(subject: Subject, kept: Flags) -> dict[str, float]:
    """Return one row's statistics a pair of call and device event, in microseconds."""
    device, calls, call = subject.trace.device, subject.trace.calls, subject.links.call
    known = np.append(subject.named(calls.name, _LAUNCHES.__contains__), False)
    pairs = np.flatnonzero(kept & known[call])
    count = len(pairs)
    call_ns = (calls.end - calls.start)[call[pairs]]
    device_ns = (device.end - device.start)[pairs]
    delay_ns = np.maximum(device.start[pairs] - calls.end[call[pairs]], 0)
    figures: dict[str, float] = {
        "n": count,
        "short_kernels": int((device_ns < call_ns).sum()),
        "runtime_outliers": int((call_ns > _SLOW_CALL_NS).sum()),
        "launch_delay_outliers": int((delay_ns > _LONG_DELAY_NS).sum()),
    }
    for title, values in (("cpu_duration", call_ns), ("gpu_duration", device_ns), ("launch_delay", delay_ns)):
        figures[f"{title}_sum"] = float(values.sum()) / 1000
        if count:
            figures[f"{title}_mean"] = float(values.mean()) / 1000
            figures[f"{title}_p50"] = quantile(values, 0.5) / 1000
            figures[f"{title}_p90"] = quantile(values, 0.9) / 1000
            figures[f"{title}_max"] = float(values.max()) / 1000
    return figures
