"""What the idle time of a GPU is owed to, by a window: waits for it, copies, launches, the host's own work.

Without its waits for the device the host would go on at once, and the two work side by side: what that saves
is no more than the host waits, and no more than the GPU idles. So a wait behind which the host computes for
long does not answer for that, and waits that leave the host too little time to get ahead again answer for all
launches behind them.
"""

from perftui.ipc.trace_report import RankReport, SyncFigures
from perftui.trainer.diagnosis.device_waits import wait_share
from perftui.trainer.diagnosis.policy import Policy
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.profiling.thresholds import DISTORTION_SEEN
from perftui.trainer.profiling.undistorted import slowed_by
from perftui.trainer.profiling.value_reads import reads_latency

_NEARLY = 0.9
_COPYING = ("aten::copy_", "aten::_to_copy", "aten::to")


def by_waits(rank: RankSignals, report: RankReport, policy: Policy) -> float:
    """Return the share of the window in which the GPU idles because the host waits for it."""
    waited = _waited(rank, report, policy)
    if waited is None:
        return drained(report) + reads_latency(report)
    return min(waited, _behind_host(report))


def by_launches(rank: RankSignals, report: RankReport, policy: Policy) -> float:
    """Return the share in which the GPU idles for want of launches: what nothing else explains."""
    idle, work = report.idle, report.host_work
    if idle is None:
        return 0.0
    # What a waiting call has drained has to be launched anew: that is the call's, not the launches'.
    behind = max(0.0, _all_drained(report) - idle.sync_call)
    cost = idle.host_other + idle.launch_latency - behind - reads_latency(report)
    if work is not None:
        cost -= work.undrained
    if report.host_waits is not None:
        whole = idle.sync_call + idle.host_other + idle.launch_latency - staged_share(report)
        cost = min(cost, whole - by_waits(rank, report, policy) - own_work(report))
    return max(0.0, cost)


def own_work(report: RankReport) -> float:
    """Return the share in which the GPU idles while the host computes, or is outside of all operators."""
    return 0.0 if report.host_work is None else report.host_work.computing + report.host_work.outside


def staged_share(report: RankReport) -> float:
    """Return the share of the window in which the GPU idled after waits that belong to pageable copies.

    torch waits for a copy from pageable memory to be staged: that wait is the copy's, not the script's.
    """
    waited = sum(each.total_us for each in report.syncs)
    return 0.0 if waited <= 0 else _all_drained(report) * sum(map(_us, _staging(report))) / waited


def own_syncs(report: RankReport) -> list[SyncFigures]:
    """Return the waiting calls that no copy from pageable memory makes."""
    staging = _staging(report)
    return [each for each in report.syncs if each not in staging]


def drained(report: RankReport) -> float:
    """Return the share of the window in which the GPU idled in a waiting call, or for what it had drained."""
    return max(0.0, _all_drained(report) - staged_share(report))


def _waited(rank: RankSignals, report: RankReport, policy: Policy) -> float | None:
    """Return the share of its time that the host waits for the GPU; None where the window does not tell.

    A profiler slows the host and so shortens its waits: then looks, which had no profiler beside them, count
    where they found more.
    """
    if report.host_waits is None:
        return None
    waited, factor = report.host_waits.in_operators, slowed_by(report, report.step_ms_before)
    if factor is None or factor < DISTORTION_SEEN:
        return waited
    return max(waited, wait_share(rank, policy) or 0.0)


def _behind_host(report: RankReport) -> float:
    """Return the share in which the GPU idles for the host; not where work was queued, or staged."""
    idle = report.idle
    if idle is None:
        return 0.0
    latency = idle.launch_latency - min(report.queued_gap_share or 0.0, idle.launch_latency)
    return max(0.0, idle.sync_call + idle.host_other + latency - staged_share(report))


def _all_drained(report: RankReport) -> float:
    in_call = 0.0 if report.idle is None else report.idle.sync_call
    return max(in_call, report.sync_drained_share or 0.0)


def _us(each: SyncFigures) -> float:
    return each.total_us


def _staging(report: RankReport) -> list[SyncFigures]:
    """Return the waiting calls that copies from pageable memory make: nearly each of them has its copy."""
    copies = sum(each.count for each in report.memcpy if each.pageable and "htod" in each.kind.lower())
    named = (each for each in report.syncs if (each.operator or "") in _COPYING)
    return [each for each in named if copies >= _NEARLY * each.count]
