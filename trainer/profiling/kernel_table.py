"""Kernels, copies and fills by name and by class."""

import numpy as np

from perftui.ipc.trace_report import KernelClassFigures, KernelFigures
from perftui.trainer.profiling.grouping import distinct, numbered
from perftui.trainer.profiling.kernel_names import kernel_class, on_tensor_cores
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import KERNEL, Integers


def kernel_table(subject: Subject) -> list[KernelFigures]:
    """Return what began in the window by name, the costliest first."""
    device = subject.trace.device
    mine = np.flatnonzero(subject.in_window)
    if not len(mine):
        return []
    lasting, alone = device.end[mine] - device.start[mine], _alone(subject)[mine]
    names, inverse, counts = numbered(device.name[mine])
    total, own = _sums(inverse, lasting, len(names)), _sums(inverse, alone, len(names))
    longest = np.zeros(len(names), np.int64)
    np.maximum.at(longest, inverse, lasting)
    is_kernel = np.zeros(len(names), np.bool_)
    is_kernel[inverse] = device.kind[mine] == KERNEL
    whole = max(int(lasting.sum()), 1)
    texts = [subject.trace.names[int(name)] for name in names]
    order = sorted(range(len(names)), key=lambda index: (-total[index], texts[index]))
    return [
        KernelFigures(
            name=texts[index],
            kind=kernel_class(texts[index]) if is_kernel[index] else "copy",
            count=int(counts[index]),
            total_us=float(total[index]) / 1000,
            self_us=float(own[index]) / 1000,
            mean_us=float(total[index]) / int(counts[index]) / 1000,
            max_us=float(longest[index]) / 1000,
            share=float(total[index]) / whole,
            tensor_cores=on_tensor_cores(texts[index]) if is_kernel[index] else False,
        )
        for index in order
    ]


def _sums(inverse: Integers, values: Integers, count: int) -> Integers:
    return np.bincount(inverse, weights=values, minlength=count).astype(np.int64)


def _alone(subject: Subject) -> Integers:
    """Return how long each device span was the only one on its device."""
    device = subject.trace.device
    result = np.zeros(len(device), np.int64)
    for number in distinct(device.device).tolist():
        mine = np.flatnonzero(device.device == number)
        times = np.concatenate((device.start[mine], device.end[mine]))
        change = np.repeat(np.array([1, -1]), len(mine))
        order = np.argsort(times, kind="stable")
        times, running = times[order], np.cumsum(change[order])
        lasting = np.append(np.diff(times), 0)
        before = np.concatenate(([0], np.cumsum(np.where(running == 1, lasting, 0))))
        until_start = before[np.searchsorted(times, device.start[mine])]
        until_end = before[np.searchsorted(times, device.end[mine])]
        result[mine] = until_end - until_start
    return result


def kernel_classes(kernels: list[KernelFigures]) -> list[KernelClassFigures]:
    """Return the classes of the kernels, the costliest first."""
    whole = sum(kernel.total_us for kernel in kernels) or 1.0
    result: list[KernelClassFigures] = []
    for kind in sorted({kernel.kind for kernel in kernels}):
        mine = [kernel for kernel in kernels if kernel.kind == kind]
        total_us = sum(kernel.total_us for kernel in mine)
        result.append(
            KernelClassFigures(
                kind=kind,
                count=sum(kernel.count for kernel in mine),
                total_us=total_us,
                share=total_us / whole,
                tensor_core_share=_tensor_core_share(mine),
            )
        )
    return sorted(result, key=lambda figures: (-figures.total_us, figures.kind))


def _tensor_core_share(kernels: list[KernelFigures]) -> float | None:
    known_us = sum(kernel.total_us for kernel in kernels if kernel.tensor_cores is not None)
    if known_us <= 0:
        return None
    return sum(kernel.total_us for kernel in kernels if kernel.tensor_cores) / known_us


def tensor_core_share(kernels: list[KernelFigures]) -> float | None:
    """Return the share of tensor-core kernels in the time of all kernels that compute.

    The estimate is a lower bound: a kernel whose name does not tell counts as none.
    """
    computing = [kernel for kernel in kernels if kernel.kind not in ("copy", "communication")]
    total_us = sum(kernel.total_us for kernel in computing)
    if total_us <= 0:
        return None
    return sum(kernel.total_us for kernel in computing if kernel.tensor_cores) / total_us
