"""What must hold for a wait to follow from what is found of its host, and what is left to itself."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import AllocatorFacts
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.follows import threads_hold_workers_up
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals, StepPatterns

from .made import QUIET, backends, change, facts, found, gpu, gpu_rank, loader, rank, run, shares, workers

_FOUR = replace(QUIET, cpus=4.0, cpu_busy=2.5, run_busy=2.4)
_FULL_GPU = AllocatorFacts(
    device="cuda:0",
    allocated_mib=141_000.0,
    reserved_mib=142_000.0,
    inactive_split_mib=0.0,
    peak_allocated_mib=141_381.0,
    peak_reserved_mib=142_000.0,
    alloc_retries=0,
    ooms=0,
)
_FULL_HOST = replace(QUIET, memory_used_mib=98.0, memory_total_mib=100.0)


def _alone(wait: float = 0.6) -> RankSignals:
    """No workers: the training thread makes the batches."""
    return rank(shares=shares(wait=wait, forward=0.1))


def _fed(cpu: float, held_up: float = 0.0) -> RankSignals:
    """Half of the step is waiting for two workers."""
    return rank(
        shares=shares(wait=0.5, forward=0.15),
        cpu_share=0.5,
        loader=loader(num_workers=2),
        workers=workers(2, cpu_share=cpu, cpu_wait_share=held_up),
    )


@pytest.mark.parametrize("threads", [4, 8])
def test_threads_of_the_model_explain_no_loading_in_the_training_thread(threads: int) -> None:
    finding = judge(run(replace(_alone(), facts=backends(num_threads=threads)), host=_FOUR)).findings[0]
    assert (finding.code, finding.under, finding.severity) == ("input.workers", None, "critical")
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 2}
    beside = found(run(replace(_alone(), facts=backends(num_threads=threads)), host=_FOUR))
    assert beside["cpu.oversubscribed"].share == 0.0 if threads == 8 else "cpu.oversubscribed" not in beside


@pytest.mark.parametrize(
    ("held_up", "holds"), [(POLICY.worker_cpu_wait, True), (POLICY.worker_cpu_wait - 0.01, False)]
)
def test_threads_explain_workers_that_get_no_core(held_up: float, holds: bool) -> None:
    """Of all ranks on the host that the wait is told of, and of no others."""
    ranks = [replace(_alone(), rank=0), replace(_fed(0.6, held_up), rank=1)]
    threads = found(run(replace(_alone(), facts=backends(num_threads=8)), host=_FOUR))["cpu.oversubscribed"]
    wait = found(run(_alone(), host=_FOUR))["input.workers"]
    case = Case(run(*ranks, host=_FOUR), POLICY)
    assert threads_hold_workers_up(case, threads, wait) is holds
    assert threads_hold_workers_up(case, threads, msgspec.structs.replace(wait, rank=1)) is holds
    assert not threads_hold_workers_up(case, threads, msgspec.structs.replace(wait, rank=0))
    assert not threads_hold_workers_up(case, msgspec.structs.replace(threads, host="there"), wait)


@pytest.mark.parametrize(
    ("throttled", "code"), [(0.11, "input.workers"), (0.29, "input.workers"), (0.3, "cpu.quota")]
)
@pytest.mark.parametrize("made", [_alone(), _fed(0.95)], ids=["no workers", "two"])
def test_a_quota_explains_waits_it_may_have_made(made: RankSignals, throttled: float, code: str) -> None:
    waiting = replace(made, shares=shares(wait=0.6, forward=0.1))
    host = replace(QUIET, throttled_share=throttled, throttled_cores=0.2)
    findings = judge(run(waiting, host=host)).findings
    assert findings[0].code == code
    wait = next(each for each in findings if each.code == "input.workers")
    assert (wait.under, wait.remedy is None) == (
        ("cpu.quota", True) if code == "cpu.quota" else (None, False)
    )


@pytest.mark.parametrize("retries", [0, 1, 300])
def test_a_full_gpu_explains_no_wait_for_the_loader(retries: int) -> None:
    made = replace(
        gpu_rank(facts=facts(allocator=_FULL_GPU)),
        shares=shares(wait=0.5, forward=0.15),
        loader=loader(num_workers=2),
        workers=workers(2, cpu_share=0.98, cpu_wait_share=0.0),
        change=change(alloc_retries=retries),
    )
    codes = found(run(made, gpus=(gpu(),)))
    assert codes["memory.near_limit"].share == 0.0
    assert (codes["input.workers"].under, codes["input.workers"].severity) == (None, "critical")
    assert codes["input.workers"].remedy is not None


@pytest.mark.parametrize(
    ("host", "cpu", "under"),
    [
        (_FULL_HOST, 0.1, None),
        (replace(_FULL_HOST, swap_in_mib_s=POLICY.swapping_mib_s), 0.1, "memory.near_limit"),
        (replace(_FULL_HOST, swap_in_mib_s=POLICY.swapping_mib_s), 0.98, None),
    ],
)
def test_a_host_explains_a_wait_where_it_swaps_and_workers_idle(
    host: HostSignals, cpu: float, under: str | None
) -> None:
    codes = found(run(_fed(cpu), host=host))
    assert "memory.near_limit" in codes
    assert codes["input.workers"].under == under


@pytest.mark.parametrize("peak_mib", [100_000.0, 141_381.0])
def test_a_leak_does_not_follow_from_the_memory_it_fills(peak_mib: float) -> None:
    grown = change(allocated_mib=500.0, allocated_rise=1.0, alloc_retries=1)
    memory = facts(allocator=msgspec.structs.replace(_FULL_GPU, peak_allocated_mib=peak_mib))
    findings = judge(
        run(gpu_rank(change=grown, facts=memory), gpus=(gpu(memory_used_mib=142_900.0),))
    ).findings
    assert (findings[0].code, findings[0].under, findings[0].severity) == ("memory.growth", None, "critical")
    assert findings[0].remedy is not None
    assert "memory.near_limit" in {each.code for each in findings}


@pytest.mark.parametrize(("retries", "under"), [(0, None), (1, "memory.near_limit")])
def test_steps_get_slower_by_a_cache_that_is_emptied_and_not_by_a_full_gpu(
    retries: int, under: str | None
) -> None:
    made = gpu_rank(
        facts=facts(allocator=_FULL_GPU),
        change=change(alloc_retries=retries),
        patterns=StepPatterns(fifths_ms=(10.0, 12.0, 14.0, 16.0, 18.0), run_steps=500),
    )
    codes = found(run(made, gpus=(gpu(),)))
    assert "memory.near_limit" in codes
    assert codes["drift.slower"].under == under
