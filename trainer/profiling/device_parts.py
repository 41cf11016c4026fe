"""The five disjoint parts of the window, by what the device did."""

from perftui.ipc.trace_report import GpuShares
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.trace_columns import KERNEL


def gpu_shares(subject: Subject) -> GpuShares | None:
    """Return the parts as shares of the window; of several devices the mean. None without device work.

    With K kernels of computation, N of communication, C copies and fills, U the union of their spans, W the
    window: compute_only |U(K)∖U(N)|, overlap |U(K)∩U(N)|, comm_exposed |U(N)∖U(K)|, mem_exposed
    |U(C)∖(U(K)∪U(N))|, idle |W|−|U(all)|, each over |W|.
    """
    window = subject.window.length
    if not subject.devices or window <= 0:
        return None
    parts = [_parts(subject, device) for device in subject.devices]
    compute_only, overlap, comm_exposed, mem_exposed = (
        sum(part[index] for part in parts) / (window * len(parts)) for index in range(4)
    )
    busy = compute_only + overlap + comm_exposed + mem_exposed
    return GpuShares(
        compute_only=compute_only,
        overlap=overlap,
        comm_exposed=comm_exposed,
        mem_exposed=mem_exposed,
        idle=1.0 - busy,
    )


def _parts(subject: Subject, device: int) -> tuple[int, int, int, int]:
    kernels = subject.trace.device.kind == KERNEL
    compute = subject.on(device, kernels & ~subject.communicates)
    communication = subject.on(device, subject.communicates)
    everything = subject.on(device)
    either = (compute | communication).length
    overlap = compute.length + communication.length - either
    return (
        compute.length - overlap,
        overlap,
        communication.length - overlap,
        everything.length - either,
    )


def busy_share(subject: Subject) -> float | None:
    """Return the share of the window in which something ran on the device."""
    shares = gpu_shares(subject)
    return None if shares is None else 1.0 - shares.idle
