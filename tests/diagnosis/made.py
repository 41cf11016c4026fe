"""Windows of signals for the rules' tests: a healthy rank on a quiet host, to which a test does one thing."""

from dataclasses import replace

import msgspec.structs

from perftui.ipc.facts import BackendFacts, DdpFacts, ParallelFacts, RankFacts, StackFacts, StackPlace
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.trace_report import GpuShares, IdleShares, RankReport, StepSpan
from perftui.ipc.view import DeviceView, GpuView, LoaderWorkers, Shares, StepStats
from perftui.trainer.diagnosis import HostSignals, Judgement, RankSignals, RunSignals, judge
from perftui.trainer.diagnosis.signals import FactsChange, StepPatterns
from tests.made_loader import made_loader

LOADER = made_loader(batch_size=32, dataset="Photos")
QUIET = HostSignals(
    name="here", cpus=8, cpu_busy=1.2, run_busy=1.1, pressure_share=0.0, cores=8, online=8, gpus_present=0
)
BUSY = replace(QUIET, cpu_busy=7.5, run_busy=1.1, pressure_share=0.5)


def loader(**changes: object) -> LoaderFacts:
    return msgspec.structs.replace(LOADER, **changes)


def workers(count: int = 2, **figures: object) -> LoaderWorkers:
    return msgspec.structs.replace(LoaderWorkers(count=count, age_s=0.0, threads=count), **figures)


def stacks(looks: int = 100, *places: StackPlace, **areas: int) -> StackFacts:
    return StackFacts(looks=looks, areas=areas, places=list(places))


def shares(wait: float = 0.02, other: float = 0.01, optimizer: float = 0.07, forward: float = 0.3) -> Shares:
    return Shares(
        loader_wait=wait,
        forward=forward,
        backward=1 - wait - other - optimizer - forward,
        optimizer=optimizer,
        other=other,
    )


def rank(number: int = 0, *, step_ms: float = 100.0, **changes: object) -> RankSignals:
    """A healthy rank on a CPU."""
    made = RankSignals(
        rank=number,
        host="here",
        device="cpu",
        window_steps=100,
        coverage=1.0,
        step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
        shares=shares(),
        cpu_share=0.97,
        loader=LOADER,
        patterns=StepPatterns(run_steps=200, compiling_of=100, samples=32.0, fifths_ms=(step_ms,) * 5),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def waiting_rank(
    wait: float | None,
    *,
    number: int = 0,
    step_ms: float = 100.0,
    backward: float | None = None,
    loader: LoaderFacts | None = LOADER,
    device: str = "cpu",
    steps: int = 100,
) -> RankSignals:
    """A rank that waits so much of its step for its loader (None: not known), and computes for the rest."""
    rest = 1.0 - (wait or 0.0)
    own = rest * 0.6 if backward is None else backward
    split = Shares(loader_wait=wait, forward=(rest - own) / 2, backward=own, optimizer=(rest - own) / 2)
    return rank(number, step_ms=step_ms, shares=split, loader=loader, device=device, window_steps=steps)


def facts(**subjects: object) -> RankFacts:
    return msgspec.structs.replace(RankFacts(), **subjects)


def change(**grown: object) -> FactsChange:
    return replace(FactsChange(seconds=60.0, steps=600), **grown)  # type: ignore[arg-type]


def ddp(**changes: object) -> RankFacts:
    made = DdpFacts(
        modules=1,
        bucket_cap_mb=25.0,
        gradient_as_bucket_view=False,
        static_graph=False,
        find_unused_parameters=False,
        comm_hook=None,
        backend="gloo",
        world_size=2,
        buckets_mib=[10.0, 10.0],
    )
    wrapper = msgspec.structs.replace(made, **changes)
    return facts(parallel=ParallelFacts(backend="gloo", world_size=2, ddp=wrapper))


def backends(**switches: object) -> RankFacts:
    return facts(backends=msgspec.structs.replace(BackendFacts(), **switches))


def gpu(**changes: object) -> GpuView:
    """An H200 that works all the time: figures of research on such a machine."""
    made = GpuView(
        uuid="GPU-1",
        host="here",
        ranks=[0],
        age_s=0.1,
        graphics_share=0.98,
        sm_active_share=0.70,
        tensor_active_share=0.68,
        dram_active_share=0.13,
        occupancy_share=0.10,
        window_steps=200,
        window_s=8.0,
        memory_used_mib=100_000.0,
        memory_total_mib=143_771.0,
        throttled_share={},
        foreign_processes=[],
    )
    return msgspec.structs.replace(made, **changes)


def gpu_rank(number: int = 0, **changes: object) -> RankSignals:
    return replace(rank(number), device="cuda:0", gpu_uuid="GPU-1", **changes)  # type: ignore[arg-type]


def copying(h2d_ms: float) -> DeviceView:
    """A step of 100 ms on a device, so much of it for copies to it."""
    return DeviceView(
        sampled_steps=5,
        step_ms=100.0,
        wait_ms=0.0,
        h2d_ms=h2d_ms,
        forward_ms=30.0,
        backward_ms=60.0 - h2d_ms,
        optimizer_ms=10.0,
        other_ms=0.0,
    )


def run(*ranks: RankSignals, host: HostSignals = QUIET, **changes: object) -> RunSignals:
    made = RunSignals(ranks=ranks, hosts=(host,), world_size=len(ranks))
    return replace(made, **changes)  # type: ignore[arg-type]


def found(signals: RunSignals) -> dict[str, Finding]:
    return {finding.code: finding for finding in judge(signals).findings}


def only(signals: RunSignals) -> Finding:
    (finding,) = judge(signals).findings
    return finding


def remedy_of(finding: Finding) -> Remedy:
    assert finding.remedy is not None
    return finding.remedy


def lead(signals: RunSignals) -> Finding:
    return judge(signals).findings[0]


def abstained(judgement: Judgement) -> dict[str, str]:
    return {each.code: each.reason for each in judgement.abstained}


STEPS = [
    StepSpan(step=n, start_us=0, duration_us=10_000, device_busy_share=0.5, loader_share=0.0) for n in (1, 2)
]


def report(
    *, loader: float = 0.0, sync: float = 0.0, host: float = 0.0, latency: float = 0.0, **more: object
) -> RankReport:
    """A window of which so much was idle, for these reasons."""
    idle = loader + sync + host + latency
    made = RankReport(
        rank=0,
        path="trace.json",
        window_ms=20.0,
        steps=STEPS,
        gpu=GpuShares(compute_only=1 - idle, overlap=0, comm_exposed=0, mem_exposed=0, idle=idle),
        idle=IdleShares(
            loader=loader, sync_call=sync, host_other=host, launch_latency=latency, dependency=0.0
        ),
    )
    return msgspec.structs.replace(made, **more)


def of_parts(seen: StackFacts, **parts: float) -> RankSignals:
    return rank(step_ms=7.0, shares=shares(**parts), facts=facts(stacks=seen))
