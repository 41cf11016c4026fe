"""Reads of values from the device, one by one: each launches a copy of a few bytes and waits for it.

By their number they look like launches that the host cannot make fast enough; but no graph and no larger
batch helps, only reading less often or all values at once.
"""

from perftui.ipc.trace_report import RankReport
from perftui.trainer.profiling.thresholds import MANY_READS


def launched_reads(report: RankReport) -> int:
    """Return the launches that were such reads; 0 below `MANY_READS` a step: there their waits tell all.

    A copy to the host that nobody waits for (offloading) is none, nor is a wait for a copy to the device.
    """
    copies = sum(each.count for each in report.memcpy if "dtoh" in each.kind.lower())
    staged = sum(each.count for each in report.memcpy if each.pageable and "htod" in each.kind.lower())
    # A copy from pageable memory may wait twice: in its call, and for its stream.
    waits = sum(each.count for each in report.syncs) - 2 * staged
    reads = max(0, min(copies, waits))
    return reads if reads >= MANY_READS * max(1, len(report.steps)) else 0


def reads_latency(report: RankReport) -> float:
    """Return the share of the window in which the device idled between such a read's launch and its copy.

    In proportion to their number: on an H200 with 512 reads a step (80 % of its launches) these and what they
    had drained came to 0.512 of the window, where the gaps before the copies themselves were 0.515.
    """
    if report.launches is None or report.idle is None or not report.launches.count:
        return 0.0
    return report.idle.launch_latency * min(1.0, launched_reads(report) / report.launches.count)


def held_by_reads(report: RankReport) -> bool:
    """Tell whether such reads, and not launches, are what the device waits for.

    They are most of the launches, or the device idles longer for them than for all other launches.
    """
    reads, idle = launched_reads(report), report.idle
    if not reads or report.launches is None or idle is None:
        return False
    of_reads = (report.sync_drained_share or 0.0) + reads_latency(report)
    of_others = idle.host_other + idle.sync_call + idle.launch_latency - of_reads
    return 2 * reads > report.launches.count or of_reads >= of_others
