"""What of a profiling window can be believed: a window that a check condemns is as good as none."""

from perftui.ipc.trace_report import GpuShares, RankReport


def believed(report: RankReport, code: str) -> bool:
    """Tell whether no failed check of a trace speaks against a finding, or a figure."""
    return not any(check.passed is False and code in check.suppresses for check in report.trust)


def trusted(report: RankReport | None, *codes: str) -> RankReport | None:
    """Return the report where all of these can be believed; else None, as without a window."""
    return report if report is not None and all(believed(report, code) for code in codes) else None


def gpu_shares(report: RankReport | None) -> GpuShares | None:
    """Return what the GPU did in the window; None: there is none, or it cannot be told."""
    sound = trusted(report, "gpu")
    return None if sound is None else sound.gpu
