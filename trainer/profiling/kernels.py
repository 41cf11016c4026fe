"""The kernel table of a window, and how much of the device's time went into copies instead."""

from collections.abc import Iterator

from perftui.ipc.view import KernelRow
from perftui.trainer.profiling.steps import Window
from perftui.trainer.profiling.trace_columns import Trace

ROW_LIMIT = 40


def kernel_rows(trace: Trace, window: Window, limit: int = ROW_LIMIT) -> list[KernelRow]:
    """Return the kernels that began in the window, the costliest first; copies only count in the shares."""
    by_name: dict[str, list[int]] = {}
    total_ns = 0
    for index, duration_ns in _inside(trace, window):
        total_ns += duration_ns
        if trace.device.kind[index] == "kernel":
            by_name.setdefault(trace.device.name[index], []).append(duration_ns)
    rows = [
        KernelRow(
            name=name,
            count=len(durations),
            total_us=sum(durations) / 1000,
            share=sum(durations) / total_ns if total_ns > 0 else 0.0,
        )
        for name, durations in by_name.items()
    ]
    rows.sort(key=lambda row: (-row.total_us, row.name))
    return rows[:limit]


def copy_share(trace: Trace, window: Window) -> float | None:
    """Return copies' and fills' share of all device time; None without device events."""
    copies_ns = total_ns = 0
    for index, duration_ns in _inside(trace, window):
        total_ns += duration_ns
        if trace.device.kind[index] == "copy":
            copies_ns += duration_ns
    return copies_ns / total_ns if total_ns > 0 else None


def _inside(trace: Trace, window: Window) -> Iterator[tuple[int, int]]:
    """Yield index and duration of the device spans that began in the window."""
    device = trace.device
    for index, start in enumerate(device.start_ns):
        if window.device_start_ns <= start < window.device_end_ns:
            yield index, device.end_ns[index] - start
