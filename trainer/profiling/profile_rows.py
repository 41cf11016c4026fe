"""A rank's report as the rows that dashboards and `perftui profile` show beside the run."""

from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.ipc.view import KernelRow, OperatorRow, ProfileRank
from perftui.trainer.profiling.host_names import is_loader

OPERATOR_ROWS = 60
KERNEL_ROWS = 40


def profile_rank(report: RankReport) -> ProfileRank:
    """Return the rank's rows; state `failed` with a reason where the trace could not be read."""
    if report.error is not None:
        return ProfileRank(rank=report.rank, state="failed", reason=report.error, path=report.path)
    return ProfileRank(
        rank=report.rank,
        state="done",
        path=report.path,
        window_ms=report.window_ms,
        operators=_operators(report),
        kernels=[
            KernelRow(name=kernel.name, count=kernel.count, total_us=kernel.total_us, share=kernel.share)
            for kernel in report.kernels
            if kernel.kind != "copy"
        ][:KERNEL_ROWS],
        loader_share=report.loader_share,
        device_busy_share=None if report.gpu is None else 1.0 - report.gpu.idle,
    )


def _operators(report: RankReport) -> list[OperatorRow]:
    """Return the first rows; the loader's is always among them."""
    window_us = (report.window_ms or 0.0) * 1000
    cut = [one for one in report.operators[OPERATOR_ROWS:] if is_loader(one.name)]
    shown = report.operators[: max(0, OPERATOR_ROWS - len(cut))] + cut
    return [_row(figures, window_us) for figures in shown]


def _row(figures: OperatorFigures, window_us: float) -> OperatorRow:
    leading = figures.self_us if figures.self_device_us is None else figures.self_device_us
    return OperatorRow(
        name=figures.name,
        count=figures.count,
        self_cpu_us=figures.self_us,
        cpu_us=figures.total_us,
        self_device_us=figures.self_device_us,
        device_us=figures.device_us,
        share=leading / window_us if window_us > 0 else 0.0,
    )
