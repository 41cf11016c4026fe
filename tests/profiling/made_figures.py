"""Reports of a rank from a few shares, without a trace."""

from perftui.ipc.trace_report import GpuShares, IdleShares, LaunchFigures, RankReport, StepSpan, TrustCheck


def figures(
    *,
    computed: float = 0.0,
    loader: float = 0.0,
    host: float = 0.0,
    drained: float = 0.0,
    queued: float = 0.0,
    comm: float = 0.0,
    trust: list[TrustCheck] | None = None,
    launches: LaunchFigures | None = None,
) -> RankReport:
    """Return a report of 1 s whose remaining time is a dependency."""
    idle = 1 - computed - comm
    return RankReport(
        rank=0,
        path="x",
        window_ms=1000.0,
        steps=[StepSpan(step=1, start_us=0, duration_us=1e6, device_busy_share=None, loader_share=loader)],
        gpu=GpuShares(compute_only=computed, overlap=0, comm_exposed=comm, mem_exposed=0, idle=idle),
        idle=IdleShares(
            loader=loader,
            sync_call=0,
            host_other=host,
            launch_latency=queued,
            dependency=idle - loader - host - queued,
        ),
        queued_gap_share=queued,
        sync_drained_share=drained,
        copy_drained_share=0.0,
        trust=trust or [],
        launches=launches,
    )


def launched(delay_us: float, short_share: float) -> LaunchFigures:
    return LaunchFigures(
        count=1,
        graph_launches=0,
        driver_launches=0,
        per_step=1,
        call_us_total=1,
        call_us_p50=1,
        call_us_max=1,
        device_us_p50=1,
        delay_us_p50=delay_us,
        delay_us_p90=1,
        delay_us_max=1,
        short_share=short_share,
        slow_calls=0,
        long_delays=0,
    )
