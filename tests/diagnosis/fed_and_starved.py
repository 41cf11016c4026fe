"""Signals of plain runs whose loaders feed them or do not."""

import msgspec.structs

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.view import Shares, StepStats
from perftui.trainer.diagnosis import (
    HostSignals,
    RankSignals,
    RunSignals,
    judge,
)

FACTS = LoaderFacts(
    index=0,
    num_workers=0,
    batch_size=32,
    prefetch_factor=None,
    persistent_workers=False,
    pin_memory=False,
    multiprocessing_context=None,
    in_order=True,
    batches_per_epoch=1000,
    iterable=False,
    dataset="Photos",
)
QUIET = HostSignals(name="here", cpus=8, cpu_busy=1.2, run_busy=1.1, pressure_share=0.0, cores=8)


def facts(**changes: object) -> LoaderFacts:
    return msgspec.structs.replace(FACTS, **changes)


def rank(
    wait: float | None,
    *,
    rank: int = 0,
    step_ms: float = 100.0,
    backward: float | None = None,
    loader: LoaderFacts | None = FACTS,
    device: str = "cpu",
    steps: int = 100,
) -> RankSignals:
    rest = 1.0 - (wait or 0.0)
    own = rest * 0.6 if backward is None else backward
    return RankSignals(
        rank=rank,
        host="here",
        device=device,
        window_steps=steps,
        coverage=1.0,
        step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
        shares=Shares(loader_wait=wait, forward=(rest - own) / 2, backward=own, optimizer=(rest - own) / 2),
        cpu_share=0.97,
        loader=loader,
    )


def run(*ranks: RankSignals, host: HostSignals = QUIET, world_size: int = 0) -> RunSignals:
    return RunSignals(ranks=ranks, hosts=(host,), world_size=world_size or len(ranks))


def only(signals: RunSignals) -> Finding:
    (finding,) = judge(signals).findings
    return finding


def remedy(finding: Finding) -> Remedy:
    assert finding.remedy is not None
    return finding.remedy
