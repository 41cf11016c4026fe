"""Signals of any run that may be, for tests of what holds of all of them."""

import msgspec.structs
from hypothesis import strategies as st

from perftui.ipc.facts import BackendFacts, CompileFacts, ModelFacts, PhaseFacts, RankFacts, StackFacts
from perftui.ipc.host_view import LoaderWorkers
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.ipc.view import GpuView, Shares, StepStats
from perftui.trainer.diagnosis import HostSignals, RankSignals, RunSignals
from perftui.trainer.diagnosis.signals import (
    Arrival,
    Arrivals,
    EpochWait,
    FactsChange,
    PauseSignals,
    StepPatterns,
    WorkerGrowth,
)

from .made import ddp, report

_share = st.floats(0, 1)
_maybe_share = st.none() | _share
_cores = st.none() | st.floats(0, 256)
_amount = st.none() | st.floats(0, 1e5)

_loaders = st.builds(
    LoaderFacts,
    index=st.integers(0, 3),
    num_workers=st.integers(0, 64),
    batch_size=st.none() | st.integers(1, 512),
    prefetch_factor=st.none(),
    persistent_workers=st.booleans(),
    pin_memory=st.booleans(),
    multiprocessing_context=st.none(),
    in_order=st.just(value=True),
    batches_per_epoch=st.none() | st.integers(1, 10_000),
    iterable=st.booleans(),
    dataset=st.just("D"),
    sharded=st.none() | st.booleans(),
)
_workers = st.builds(
    LoaderWorkers,
    count=st.integers(0, 64),
    age_s=st.just(0.0),
    threads=st.integers(0, 512),
    cpu_share=st.none() | st.floats(0, 4),
    cpu_share_max=st.none() | st.floats(0, 8),
    cpu_wait_share=_maybe_share,
    blocked_share=_maybe_share,
    socket_share=_maybe_share,
    lock_share=_maybe_share,
    storage_read_mib_s=_amount,
)
_growths = st.builds(
    WorkerGrowth,
    seconds=st.floats(0, 1e4),
    private_mib=st.floats(-1e4, 1e5),
    rss_mib=st.floats(-1e4, 1e5),
    rise=_maybe_share,
)


@st.composite
def _stacks(draw: st.DrawFn) -> StackFacts:
    areas = ("dataset", "collate", "loader", "model", "backward", "optimizer", "script", "logging")
    counts = {area: draw(st.integers(0, 100)) for area in areas}
    awaited = {str(worker): draw(st.integers(0, 50)) for worker in range(draw(st.integers(0, 3)))}
    return StackFacts(
        looks=sum(counts.values()),
        areas=counts,
        awaited=awaited,
        others_ready=draw(st.integers(0, sum(awaited.values()))),
        recomputing=draw(st.integers(0, counts["backward"])),
        order={order: draw(st.integers(0, 40)) for order in ("before", "after", "behind")},
    )


_NAMES = (
    "aten::mm",
    "aten::_linalg_svd",
    "aten::sqrt",
    "gloo:all_reduce",
    "Torch-Compiled Region: 0/0",
    "CompiledFunction",
    "## Call CompiledFxGraph f ##",
    "Optimizer.step#SGD.step",
)


@st.composite
def _reports(draw: st.DrawFn) -> RankReport:
    """A window on a CPU, which has no figures of a GPU."""
    weights = [draw(st.floats(0.01, 1)) for _ in _NAMES]
    return report(
        gpu=None,
        idle=None,
        operators=[
            OperatorFigures(
                name=name,
                count=draw(st.integers(1, 99)),
                total_us=20_000 * weight,
                self_us=20_000 * weight / sum(weights),
                device_us=None,
                self_device_us=None,
                share=weight / sum(weights),
                host_per_device=None,
            )
            for name, weight in zip(_NAMES, weights, strict=True)
        ],
    )


_models = st.builds(
    ModelFacts,
    tensors=st.integers(1, 100),
    parameters=st.just(100),
    mib=st.just(1.0),
    dtypes=st.just({"float32": 100}),
    devices=st.sampled_from([{"cpu": 100}, {"cuda:0": 100}, {"cpu": 50, "cuda:0": 50}]),
    subnormal=_maybe_share,
)
_phases = st.builds(
    PhaseFacts,
    phase=st.sampled_from(["training", "compiling", "starting"]),
    since_ns=st.just(0),
    at_ns=st.just(1),
    began_ns=st.just(0),
    newest_ns=st.just(1),
    seconds=st.fixed_dictionaries({"compiling": st.floats(0, 500)}),
)
_loadings = st.builds(
    LoadingFacts,
    loader=st.integers(0, 3),
    batches=st.integers(1, 1000),
    fetch_s=st.floats(0, 1e6),
    collate_s=st.floats(0, 1e6),
)
_compiles = st.builds(
    CompileFacts,
    frames=st.integers(0, 9),
    graphs=st.integers(0, 9),
    recompiles=st.integers(0, 20),
    graph_breaks=st.integers(0, 9),
    limit_hits=st.integers(0, 2),
    compile_s=st.none() | st.floats(0, 500),
    cudagraph_skips=st.integers(0, 3),
)


@st.composite
def _facts(draw: st.DrawFn) -> RankFacts:
    base = (
        ddp(
            backwards_per_step=8.0,
            syncs_per_step=draw(st.floats(0, 8)),
            find_unused_parameters=draw(st.booleans()),
            bucket_cap_mb=draw(st.none() | st.floats(0, 200)),
            buckets_mib=draw(st.none() | st.lists(st.floats(0, 100), min_size=1, max_size=9)),
        )
        if draw(st.booleans())
        else RankFacts()
    )
    return msgspec.structs.replace(
        base,
        stacks=draw(st.none() | _stacks()),
        model=draw(st.none() | _models),
        compile=draw(st.none() | _compiles),
        phases=draw(st.none() | _phases),
        loading=draw(st.none() | _loadings),
        backends=draw(
            st.none()
            | st.builds(
                BackendFacts,
                anomaly=st.none() | st.booleans(),
                num_threads=st.none() | st.integers(1, 64),
                float32_matmul_precision=st.sampled_from(["highest", "high"]),
            )
        ),
        environment=draw(st.none() | st.just({"CUDA_LAUNCH_BLOCKING": "1"})),
    )


@st.composite
def _shares(draw: st.DrawFn) -> Shares:
    weights = draw(st.lists(st.floats(0.01, 1), min_size=6, max_size=6))
    wait, forward, backward, optimizer, other, comm = (weight / sum(weights) for weight in weights)
    if draw(st.booleans()):
        return Shares(loader_wait=draw(_maybe_share))
    return Shares(
        loader_wait=wait,
        forward=forward,
        backward=backward,
        optimizer=optimizer,
        other=other,
        comm_exposed=comm,
    )


_patterns = st.builds(
    StepPatterns,
    worker_wait_ms=st.dictionaries(st.integers(0, 4), st.floats(0, 500), max_size=5),
    worker_steps=st.integers(0, 200),
    samples=st.none() | st.floats(1, 512),
    micro_batches=st.floats(1, 16),
    comm_steps=st.integers(0, 20),
    epochs=st.lists(
        st.builds(
            EpochWait,
            epoch=st.integers(0, 3),
            steps=st.integers(1, 99),
            wall_ms=st.just(100.0),
            wait_ms=st.floats(0, 100),
        ),
        max_size=3,
    ).map(tuple),
    epoch_starts=st.integers(0, 20),
    epoch_start_ms=_amount,
    fifths_ms=st.just(()) | st.tuples(*[st.floats(1, 100)] * 5),
    run_steps=st.integers(0, 5000),
    compiling=st.integers(0, 50),
    compiling_of=st.just(50),
    compiling_share=_maybe_share,
    wait_known=st.booleans(),
)
_changes = st.builds(
    FactsChange,
    seconds=st.floats(1, 60),
    steps=st.integers(0, 1000),
    gc_ms=_amount,
    compile_s=st.none() | st.floats(0, 60),
    recompiles=st.none() | st.integers(0, 9),
    alloc_retries=st.none() | st.integers(0, 9),
    kept_mib=_amount,
    kept_rise=_maybe_share,
    loading=st.none() | _loadings,
)
_pauses = st.lists(
    st.builds(
        PauseSignals,
        kind=st.sampled_from(["checkpoint", "validation", "gc"]),
        count=st.integers(1, 9),
        total_ms=st.floats(0, 1e4),
        longest_ms=st.floats(0, 1e4),
        share=_share,
    ),
    max_size=2,
    unique_by=lambda pause: pause.kind,
).map(tuple)


_losses = st.lists(st.sampled_from([0.5, 1.0, 2.0]), max_size=8).map(lambda values: tuple(enumerate(values)))


@st.composite
def _ranks(draw: st.DrawFn) -> tuple[RankSignals, ...]:
    common_ms = draw(st.floats(0.1, 5_000))
    ranks: list[RankSignals] = []
    for rank in range(draw(st.integers(0, 4))):
        step_ms = draw(st.just(common_ms) | st.floats(0.1, 5_000))
        shares = draw(_shares())
        ranks.append(
            RankSignals(
                rank=rank,
                host=draw(st.sampled_from(["a", "b"])),
                device=draw(st.sampled_from(["cpu", "cuda:0"])),
                window_steps=draw(st.integers(0, 200)),
                coverage=draw(st.sampled_from([0.5, 1.0])),
                step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
                shares=shares,
                cpu_share=draw(_maybe_share),
                loader=draw(st.none() | _loaders),
                epoch_start_wait=(shares.loader_wait or 0.0) * draw(_share),
                workers=draw(st.none() | _workers),
                worker_growth=draw(st.none() | _growths),
                read_ahead=draw(st.none() | _loaders),
                facts=draw(_facts()),
                change=draw(st.none() | _changes),
                patterns=draw(_patterns),
                pauses=draw(_pauses),
                report=draw(st.none() | _reports()),
                losses=draw(_losses),
                hook_share=draw(st.none() | st.floats(0, 0.1)),
                world_size=draw(st.integers(1, 4)),
            )
        )
    return tuple(ranks)


_hosts = st.tuples(
    *(
        st.builds(
            HostSignals,
            name=st.just(name),
            cpus=_cores,
            cpu_busy=_cores,
            run_busy=_cores,
            pressure_share=_maybe_share,
            shm_free_mib=_cores,
            shm_total_mib=_cores,
            cores=_cores,
            online=_cores,
            throttled_share=_maybe_share,
            memory_used_mib=_cores,
            memory_total_mib=_cores,
            gpus_present=st.none() | st.integers(0, 8),
            run_storage_read_mib_s=_amount,
        )
        for name in ("a", "b")
    )
)
_gpus = st.lists(
    st.builds(
        GpuView,
        uuid=st.just("GPU"),
        host=st.just("a"),
        ranks=st.just([0, 1, 2, 3]),
        age_s=st.just(0.0),
        graphics_share=_maybe_share,
        sm_active_share=_maybe_share,
        tensor_active_share=_maybe_share,
        throttled_share=st.none() | st.fixed_dictionaries({"thermal_hw": _share, "power_cap": _share}),
        window_steps=st.integers(0, 200),
    ),
    max_size=1,
).map(tuple)


@st.composite
def _arrivals(draw: st.DrawFn) -> Arrivals:
    ranks = tuple(
        Arrival(
            rank=number,
            late_ms=draw(st.floats(0, 1e4)),
            last_share=draw(_share),
            looks=draw(st.integers(0, 99)),
            wait_error_ms=draw(_amount),
            least_share=draw(_maybe_share),
        )
        for number in range(draw(st.integers(2, 4)))
    )
    return Arrivals(
        steps=draw(st.integers(1, 200)),
        ranks=ranks,
        lost_ms=draw(st.floats(0, 1e4)),
        lost_cpu_ms=draw(_amount),
        most_cpu_share=draw(_maybe_share),
        cpu_ms=draw(_amount),
        cpu_memory=draw(st.none() | st.floats(-1, 1)),
        uneven=draw(_maybe_share),
        looked=draw(st.integers(0, 99)),
        exchange_ms=draw(_amount),
    )


runs = st.builds(
    RunSignals,
    ranks=_ranks(),
    hosts=_hosts,
    world_size=st.integers(1, 5),
    gpus=_gpus,
    arrivals=st.none() | _arrivals(),
)
