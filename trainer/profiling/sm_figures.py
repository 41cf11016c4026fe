"""How full kernels made the multiprocessors, as estimated from their launch configurations."""

import numpy as np

from perftui.trainer.profiling.subject import Subject


def sm_efficiency(subject: Subject) -> float | None:
    """Return the window's mean of min(1, blocks per multiprocessor of all kernels that run at a time).

    The formula of TensorBoard's profiler plugin. None where the trace has no launch configurations (ROCm).
    """
    device, window = subject.trace.device, subject.window
    known = np.isfinite(device.blocks_per_sm)
    if not (known & subject.in_window).any() or window.length <= 0:
        return None
    total = 0.0
    for number in subject.devices:
        mine = known & (device.device == number)
        start = np.clip(device.start[mine], window.start, window.end)
        end = np.clip(device.end[mine], window.start, window.end)
        times = np.concatenate((start, end))
        order = np.argsort(times, kind="stable")
        change = np.concatenate((device.blocks_per_sm[mine], -device.blocks_per_sm[mine]))
        level = np.clip(np.cumsum(change[order]), 0.0, 1.0)
        total += float((level[:-1] * np.diff(times[order])).sum())
    return total / (window.length * len(subject.devices))


def occupancy(subject: Subject) -> float | None:
    """Return the kernels' estimated achieved occupancy, weighted with their time; None where not recorded."""
    device = subject.trace.device
    mine = subject.in_window & np.isfinite(device.occupancy_pct)
    lasting = (device.end - device.start)[mine]
    whole = int(lasting.sum())
    return float((device.occupancy_pct[mine] * lasting).sum()) / whole / 100 if whole > 0 else None
