"""Reports and timelines as plain data: what the analysis of a window would say. For tests of the profile."""

from pathlib import Path

import msgspec

from perftui.ipc.trace_report import (
    AllocatorFigures,
    CallerFigures,
    CollectiveFigures,
    CompileFigures,
    CopyFigures,
    GpuShares,
    HtaFigures,
    IdleGap,
    IdleShares,
    KernelClassFigures,
    KernelFigures,
    LaunchFigures,
    OperatorFigures,
    QueueFigures,
    RankReport,
    RankWait,
    ShapeFigures,
    StepSpan,
    SyncFigures,
    TimelineLane,
    TraceReport,
    TraceTimeline,
    TrustCheck,
)

LONG_KERNEL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
GEMM = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas"
)
HOSTILE = "evil\x1b]0;title\x07 [bold]kernel[/bold]\r\nnext"
STEPS = [
    StepSpan(
        step=421 + n, start_us=n * 40_000.0, duration_us=40_000.0, device_busy_share=0.55, loader_share=0.2
    )
    for n in range(3)
]


def kernel(name: str, kind: str, total_us: float, count: int = 60, **changes: object) -> KernelFigures:
    """A kernel; its share is that of 60 ms."""
    base = KernelFigures(
        name=name,
        kind=kind,
        count=count,
        total_us=total_us,
        self_us=total_us,
        mean_us=total_us / count,
        max_us=2 * total_us / count,
        share=total_us / 60_000,
        tensor_cores=None,
    )
    return msgspec.structs.replace(base, **changes)


def operator(name: str, self_us: float, device_us: float | None, **changes: object) -> OperatorFigures:
    """An operator; its share is that of 60 ms."""
    base = OperatorFigures(
        name=name,
        count=60,
        total_us=1.4 * self_us,
        self_us=self_us,
        device_us=device_us,
        self_device_us=device_us,
        share=(device_us if device_us is not None else self_us) / 60_000,
        host_per_device=self_us / device_us if device_us else None,
    )
    return msgspec.structs.replace(base, **changes)


LINEAR = operator(
    "aten::addmm",
    4_100.0,
    24_000.0,
    shapes=[
        ShapeFigures(shapes="[4096], [2048, 1024], [1024, 4096]", count=40, self_us=3e3, device_us=2e4),
        ShapeFigures(shapes="[1000], [2048, 1024], [1024, 1000]", count=20, self_us=1.1e3, device_us=4e3),
    ],
    callers=[CallerFigures(caller="aten::linear", count=60, total_us=5_740.0, device_us=24_000.0)],
)
GAPS = [
    IdleGap(start_us=100.0, duration_us=7_900.0, kind="loader", host="enumerate(DataLoader)#__next__",
            before="Memcpy HtoD (Pageable -> Device)", step=421),
    IdleGap(start_us=61e3, duration_us=2.4e3, kind="sync_call", host="aten::item", before=GEMM, step=422),
    IdleGap(start_us=90_000.0, duration_us=310.0, kind="host_other", host=None, before=None, step=423),
]  # fmt: skip
TRUST = [
    TrustCheck(name="device_events", passed=True, value=183.0, text="183 device events"),
    TrustCheck(name="causality", passed=True, value=0.0, text="no work began before its launch"),
    TrustCheck(
        name="lost_launches",
        passed=False,
        value=0.04,
        text="4 % of the launches have no work on the device: the profiler lost events",
        suppresses=["launches", "idle.launch_latency"],
    ),
    TrustCheck(name="start_skew", passed=None, value=None, text="needs two ranks"),
]


def rank_report(rank: int = 0, **changes: object) -> RankReport:
    """Three steps on a GPU that is idle 45 % of the time."""
    base = RankReport(
        rank=rank,
        path=f"/runs/demo-1/profiles/w1/rank{rank}.pt.trace.json.gz",
        host="gpu07",
        device_name="NVIDIA H200",
        events=60_312,
        window_ms=120.0,
        steps=STEPS,
        sentence="The GPU is idle 45 % of the time, mostly for the loader.",
        gpu=GpuShares(compute_only=0.40, overlap=0.05, comm_exposed=0.06, mem_exposed=0.04, idle=0.45),
        idle=IdleShares(loader=0.30, sync_call=0.08, host_other=0.04, launch_latency=0.02, dependency=0.01),
        loader_share=0.31,
        optimizer_share=0.05,
        gaps=GAPS,
        kernels=[
            kernel(GEMM, "gemm", 24_000.0, tensor_cores=True),
            kernel(LONG_KERNEL, "elementwise", 9_000.0, 360),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                   "communication", 13_200.0, 12, self_us=7_200.0),
            kernel(HOSTILE, "other", 600.0, 3),
        ],
        kernel_classes=[
            KernelClassFigures(kind="gemm", count=60, total_us=24_000.0, share=0.4, tensor_core_share=1.0),
            KernelClassFigures(kind="reduce", count=360, total_us=9e3, share=0.15, tensor_core_share=None),
        ],
        tensor_core_share=0.4,
        operators=[
            LINEAR,
            operator("aten::add_", 2_500.0, 9_000.0),
            operator("Optimizer.step#AdamW.step", 1_900.0, 3_000.0),
            operator("aten::item", 9_600.0, None),
        ],
        launches=LaunchFigures(
            count=540, graph_launches=0, driver_launches=60, per_step=180.0, call_us_total=2_700.0,
            call_us_p50=4.2, call_us_max=61.0, device_us_p50=31.0, delay_us_p50=8.4, delay_us_p90=410.0,
            delay_us_max=2_200.0, short_share=0.11, slow_calls=1, long_delays=52,
        ),
        queue=[QueueFigures(device=0, stream=7, mean_depth=4.2, max_depth=38, full_share=0.0)],
        syncs=[
            SyncFigures(call="cudaStreamSynchronize", operator="aten::item", where="train.py:88 step",
                        count=3, per_step=1.0, total_us=9_600.0, share=0.08),
        ],
        memcpy=[
            CopyFigures(kind="HtoD (Pageable -> Device)", pageable=True, count=3, total_us=4.8e3, mib=110.25,
                        gib_s=22.4, exposed_us=4_700.0, per_step=1.0),
        ],
        collectives=[
            CollectiveFigures(name="allreduce", group="default", count=12, total_us=13_200.0,
                              exposed_us=7_200.0, mib=97.6, wait_us=3_100.0),
        ],
        allocator=AllocatorFigures(device_allocations=2, device_frees=0, total_us=812.0, peak_mib=20_480.0),
        compile=CompileFigures(compiling_us=0.0, compiled_share=0.42),
        trust=TRUST,
        notes=["stacks were not recorded"],
        hta=HtaFigures(idle_pct=44.1, compute_pct=46.0, non_compute_pct=9.9, overlap_pct=45.0,
                       idle_classes={"7": {"host_wait": 52_000.0}}, launch_stats={"short_kernels": 12.0}),
        timeline_path=f"timeline-rank{rank}.json",
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)


def report(**changes: object) -> TraceReport:
    """One rank."""
    base = TraceReport(
        sentence="The GPU is idle 45 % of the time, mostly for the loader, whose batches come late.",
        ranks=[rank_report()],
    )
    return msgspec.structs.replace(base, **changes)


def two_ranks() -> TraceReport:
    """Rank 1 comes last to most collectives."""
    return report(
        sentence="The others wait for rank 1.",
        ranks=[rank_report(0), rank_report(1, sentence="Rank 1 computes for longer.", collectives=[])],
        waits=[
            RankWait(rank=0, matched=12, wait_us=3_100.0, late_us=12.0, last_share=0.08),
            RankWait(rank=1, matched=12, wait_us=40.0, late_us=540.0, last_share=0.92),
        ],
        straggler=1,
        notes=["ranks were aligned by their collectives"],
    )


def on_cpu() -> TraceReport:
    """A window without any device."""
    rank = rank_report(
        device_name=None, gpu=None, idle=None, kernels=[], kernel_classes=[],
        gaps=[], memcpy=[], collectives=[],
        launches=None, queue=[], syncs=[], tensor_core_share=None, hta=None, allocator=None,
        operators=[operator("aten::convolution", 41_000.0, None), operator("aten::add_", 2_500.0, None)],
        sentence="73 % of these 3 steps went into the loader.", loader_share=0.73, optimizer_share=0.02,
    )  # fmt: skip
    return report(sentence="", ranks=[rank])


NAMES = ["ProfilerStep#421", "aten::linear", "aten::addmm", "cudaLaunchKernel", GEMM, LONG_KERNEL, "loader"]
CLASSES = ["step", "operator", "operator", "call", "gemm", "elementwise", "loader"]


def timeline() -> TraceTimeline:
    """Three steps of 40 µs on one stream and one thread: gemm, pause, elementwise."""
    stream = TimelineLane(
        kind="stream", title="GPU 0 stream 7",
        name=[4, 5] * 3,
        start_ns=[at for n in range(3) for at in (n * 40_000 + 10_000, n * 40_000 + 30_000)],
        duration_ns=[15_000, 5_000] * 3,
        depth=[0] * 6,
        caller=[2, None] * 3,
        launched_ns=[at for n in range(3) for at in (n * 40_000 + 9_500, None)],
    )  # fmt: skip
    thread = TimelineLane(
        kind="thread", title="thread 4000 python",
        name=[0, 6, 1, 2, 3] * 3,
        start_ns=[n * 40_000 + at for n in range(3) for at in (0, 0, 9_000, 9_100, 9_500)],
        duration_ns=[40_000, 8_000, 2_000, 1_500, 300] * 3,
        depth=[0, 1, 1, 2, 3] * 3,
    )  # fmt: skip
    steps = [
        StepSpan(step=421 + n, start_us=n * 40.0, duration_us=40.0, device_busy_share=0.5, loader_share=0.2)
        for n in range(3)
    ]
    return TraceTimeline(window_ns=120_000, names=NAMES, classes=CLASSES, lanes=[thread, stream], steps=steps)


def written(folder: Path, document: TraceReport, name: str = "report.json") -> Path:
    """Write a report and the timelines of its ranks as the analysis does; return the report's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(msgspec.json.encode(document))
    for rank in document.ranks:
        if rank.timeline_path is not None:
            (folder / rank.timeline_path).write_bytes(msgspec.json.encode(timeline()))
    return path
