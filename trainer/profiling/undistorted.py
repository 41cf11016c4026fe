"""What the window would have looked like without the profiler, from the step time before it. Pure.

The profiler slows the host, which records its own work, and leaves the device's work as long as it is. So a
training that keeps its GPU busy can look idle inside a window. With k = step time in the window over step
time before it, the 1 - 1/k of the window that the profiler added is taken from the device's idle time, first
where the host issues work, and the rest is scaled by k.
"""

import msgspec

from perftui.ipc.host_work import HostWaits, HostWork
from perftui.ipc.trace_report import GpuShares, IdleShares, RankReport, TrustCheck
from perftui.trainer.profiling.thresholds import DISTORTION_BELIEVED, DISTORTION_SEEN


def slowed_by(report: RankReport, step_ms_before: float | None) -> float | None:
    """Return k, the mean step in the window over the step before it; None where either is not known."""
    if not step_ms_before or not report.steps:
        return None
    return sum(step.duration_us for step in report.steps) / len(report.steps) / 1000 / step_ms_before


def with_distortion(report: RankReport, step_ms_before: float | None) -> RankReport:
    """Return the report with its step time before the window, and the check on how far the two differ."""
    factor = slowed_by(report, step_ms_before)
    if factor is None or step_ms_before is None:
        return report
    within_ms = factor * step_ms_before
    check = TrustCheck(
        name="distortion",
        passed=factor <= DISTORTION_BELIEVED,
        value=factor,
        text=f"a step took {within_ms:.4g} ms under the profiler, {step_ms_before:.4g} ms before it",
    )
    trust = [check if one.name == check.name else one for one in report.trust]
    notes = report.notes if check.passed else [*report.notes, f"{check.text}: host times are inflated"]
    return msgspec.structs.replace(report, trust=trust, notes=notes, step_ms_before=step_ms_before)


def undistorted(report: RankReport) -> RankReport:
    """Return the report with its shares as without the profiler; as it is where they hardly differ.

    Shares of parts still sum to 1, idle classes to the idle share. Nothing else is altered.
    """
    factor = slowed_by(report, report.step_ms_before)
    if factor is None or factor < DISTORTION_SEEN or report.gpu is None or report.idle is None:
        return report
    busy = 1.0 - report.gpu.idle
    scale = min(factor, 1.0 / busy) if busy > 0 else factor
    gpu = GpuShares(
        compute_only=report.gpu.compute_only * scale,
        overlap=report.gpu.overlap * scale,
        comm_exposed=report.gpu.comm_exposed * scale,
        mem_exposed=report.gpu.mem_exposed * scale,
        idle=max(0.0, 1.0 - busy * scale),
    )
    idle = _without(report.idle, 1.0 - 1.0 / scale, scale)
    host_before, host = _host(report.idle), _host(idle)
    kept = host / host_before if host_before > 0 else 0.0
    latency = report.idle.launch_latency
    kept_queued = idle.launch_latency / latency if latency > 0 else 0.0
    return msgspec.structs.replace(
        report,
        gpu=gpu,
        idle=idle,
        queued_gap_share=None if report.queued_gap_share is None else report.queued_gap_share * kept_queued,
        sync_drained_share=None if report.sync_drained_share is None else report.sync_drained_share * kept,
        host_waits=_waits(report.host_waits, scale),
        host_work=None if report.host_work is None else _work(report.host_work, scale, host),
        copy_drained_share=None if report.copy_drained_share is None else report.copy_drained_share * kept,
        memcpy=[msgspec.structs.replace(copy, exposed_us=copy.exposed_us * scale) for copy in report.memcpy],
    )


def _waits(waits: HostWaits | None, factor: float) -> HostWaits | None:
    """Return waits that last at least as long without the profiler: only what is around them gets shorter."""
    if waits is None:
        return None
    in_calls = min(1.0, factor * waits.in_calls)
    around = waits.in_operators - waits.in_calls
    return HostWaits(in_calls=in_calls, in_operators=min(1.0, in_calls + around))


def _work(work: HostWork, factor: float, most: float) -> HostWork:
    """Return work that lasts as long without the profiler, which records none of it; at most so much."""
    whole = work.computing + work.outside
    factor = min(factor, most / whole) if whole > 0 else factor
    return HostWork(
        computing=work.computing * factor, outside=work.outside * factor, undrained=work.undrained * factor
    )


def _host(idle: IdleShares) -> float:
    return idle.host_other + idle.sync_call


def _without(idle: IdleShares, added: float, scale: float) -> IdleShares:
    """Take the share that the profiler added from where the host issues work, then from the others."""
    left = {name: float(getattr(idle, name)) for name in IdleShares.__struct_fields__}
    for name in ("host_other", "launch_latency", "sync_call", "dependency", "loader"):
        taken = min(added, left[name])
        left[name] -= taken
        added -= taken
    return IdleShares(**{name: share * scale for name, share in left.items()})
