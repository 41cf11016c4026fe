"""The host's own work while its GPU idles: how much of it there is, and where looks found the thread."""

from dataclasses import dataclass

from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.device_idle import own_work
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import trusted
from perftui.trainer.profiling.thresholds import DISTORTION_BELIEVED
from perftui.trainer.profiling.undistorted import slowed_by


@dataclass(frozen=True)
class IdleBeside:
    """How long a GPU idles beside work of the host's own."""

    share: float
    """Of the step, at most."""
    measured: bool
    """By a window; else it is all of the GPU's idle time, whatever it is owed to."""


def idle_beside(case: Case, rank: RankSignals) -> IdleBeside | None:
    """Return how long the GPU idles while the host does work of its own; None where nothing tells."""
    if case.paces[rank.rank].pacer == "device":
        return IdleBeside(0.0, measured=True)
    measured = measured_work(rank)
    if measured is not None:
        return IdleBeside(measured, measured=True)
    gpu = case.gpu(rank) if case.paces[rank.rank].pacer == "host" else None
    if gpu is None or gpu.graphics_share is None or not gpu.window_steps:
        return None
    return IdleBeside(1 - gpu.graphics_share, measured=False)


def measured_work(rank: RankSignals) -> float | None:
    """Return the share of a window in which the GPU idles for the host's own work; None: no sound window."""
    report = trusted(rank.report, "gpu", "idle", "launch.bound")
    return None if report is None or report.host_work is None else own_work(report)


def computing_share(rank: RankSignals) -> float:
    """Return the share of a window in which the GPU idles while operators compute on the CPU; else 0."""
    report = trusted(rank.report, "gpu", "idle")
    return 0.0 if report is None or report.host_work is None else report.host_work.computing


def like_other_steps(rank: RankSignals) -> bool:
    """Tell whether the window's steps took about as long as those before: nothing rare was among them."""
    report = rank.report
    factor = None if report is None else slowed_by(report, report.step_ms_before)
    return factor is not None and factor <= DISTORTION_BELIEVED
