"""Cores, pauses, memory, drift and the training thread's own work: each rule at its thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import AllocatorFacts, GcFacts, ProcessFacts, StackPlace
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import HostSignals, PauseSignals, StepPatterns

from .made import (
    BUSY,
    QUIET,
    abstained,
    change,
    facts,
    found,
    gpu,
    gpu_rank,
    lead,
    loader,
    rank,
    run,
    shares,
    stacks,
    workers,
)

_TWO = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.9, run_busy=1.8)


# --- cpu ---


@pytest.mark.parametrize(
    ("share", "severity"),
    [(None, None), (0.09, None), (0.1, "warning"), (0.49, "warning"), (0.5, "critical")],
)
def test_quota(share: float | None, severity: str | None) -> None:
    finding = found(run(rank(), host=replace(QUIET, throttled_share=share))).get("cpu.quota")
    assert (finding and finding.severity) == severity


@pytest.mark.parametrize(
    ("cores", "busy", "severity"),
    [(4.0, 3.5, "warning"), (5.0, 5.0, None), (4.0, 3.3, None), (1.0, 0.99, "critical")],
)
def test_affinity(cores: float, busy: float, severity: str | None) -> None:
    host = replace(QUIET, cpus=cores, cores=cores, run_busy=busy, cpu_busy=busy)
    finding = found(run(rank(), host=host)).get("cpu.affinity")
    assert (finding and finding.severity) == severity


def test_a_mask_that_others_fill_is_ours_if_we_work_there() -> None:
    host = replace(QUIET, cpus=2.0, cores=2.0, cpu_busy=1.9)
    assert "cpu.affinity" in found(run(rank(), host=replace(host, run_busy=0.8)))
    assert "cpu.affinity" not in found(run(rank(), host=replace(host, run_busy=0.7)))


@pytest.mark.parametrize(
    ("given", "severity"),
    [(2.0, "info"), (1.0, "info"), (4.0, "warning"), (32.0, "warning"), (None, "warning")],
)
def test_a_mask_that_the_run_was_started_with_is_an_allocation(
    given: float | None, severity: str | None
) -> None:
    host = replace(QUIET, cpus=2.0, cores=2.0, given=given, online=32.0, cpu_busy=1.9, run_busy=1.9)
    findings = judge(run(rank(), host=host)).findings
    of_the_mask = next(finding for finding in findings if finding.code == "cpu.affinity")
    assert of_the_mask.severity == severity
    assert of_the_mask.remedy is not None
    assert ("ask for more CPUs" in (of_the_mask.remedy.advice or "")) is (severity == "info")
    assert findings[0].code == ("compute.bound" if severity == "info" else "cpu.affinity")


def test_an_allocation_that_others_fill_is_not_the_runs_need() -> None:
    host = replace(QUIET, cpus=2.0, cores=2.0, given=2.0, online=32.0, cpu_busy=2.0, run_busy=1.0)
    findings = judge(run(rank(), host=host)).findings
    assert [finding.code for finding in findings] == ["compute.bound", "self.contended"]


def test_an_allocation_does_not_lead_over_what_fills_it() -> None:
    host = replace(_TWO, given=2.0, online=32.0, run_busy=1.95, cpu_busy=2.0)
    seen = workers(2, cpu_share=0.75, cpu_wait_share=0.2)
    starved = rank(
        shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=2), workers=seen, cpu_share=0.4
    )
    findings = judge(run(starved, host=host)).findings
    assert [(f.code, f.under) for f in findings] == [("input.item", None), ("cpu.affinity", None)]
    assert findings[0].remedy is not None
    assert "more cores: it was started on 2 of 32" in (findings[0].remedy.advice or "")


@pytest.mark.parametrize(
    ("cpu", "held_up", "code"),
    [
        (0.68, 0.57, "cpu.oversubscribed"),
        (POLICY.worker_wants - POLICY.worker_cpu_wait, POLICY.worker_cpu_wait, "cpu.oversubscribed"),
        (0.6, 0.5, "input.item"),  # one thread may well want one core
        (1.3, 0.1, "input.item"),  # several threads that get their cores
        (0.9, None, "input.item"),
    ],
)
def test_workers_that_want_several_cores_compute_in_pools(
    cpu: float, held_up: float | None, code: str
) -> None:
    seen = workers(2, threads=8, cpu_share=cpu, cpu_wait_share=held_up)
    starved = rank(
        shares=shares(wait=0.4, forward=0.2), loader=loader(num_workers=2), workers=seen, cpu_share=0.3
    )
    assert lead(run(starved, host=_TWO)).code == code


def test_affinity_of_workers_and_where_it_was_not_measured() -> None:
    seen = workers(4, cpu_share=0.24, cpu_wait_share=0.7)
    made = rank(shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=4), workers=seen)
    finding = lead(run(made, host=replace(QUIET, worker_cores=1)))
    assert finding.code == "cpu.affinity"
    assert "workers" in finding.sentence
    assert "cpu.affinity" not in found(run(made))
    blind = HostSignals(name="here", cpus=1.0, cores=1.0, run_busy=1.0, cpu_busy=1.0)
    assert "cpu.affinity" not in found(run(made, host=blind))


_LINE = StackPlace(area="script", at="train.py:40 main", line="for row in rows:", count=30)


@pytest.mark.parametrize(
    ("looks", "severity"), [(24, None), (25, "warning"), (39, "warning"), (40, "critical")]
)
def test_python_of_the_scripts_own(looks: int, severity: str | None) -> None:
    seen = stacks(100, replace_count(_LINE, looks), script=looks, model=20, backward=80 - looks)
    made = rank(shares=shares(other=looks / 100, forward=0.2), facts=facts(stacks=seen))
    finding = found(run(made)).get("cpu.python")
    assert (finding and finding.severity) == severity
    if finding is not None and finding.remedy is not None:
        assert finding.remedy.at == "train.py:40 main"


def replace_count(place: StackPlace, count: int) -> StackPlace:
    return StackPlace(area=place.area, at=place.at, line=place.line, count=count)


def test_python_is_not_blamed_where_nobody_looked_or_the_loader_paces() -> None:
    judgement = judge(run(rank(shares=shares(other=0.3, forward=0.2))))
    assert judgement.findings == ()
    assert "neither loading nor the model" in abstained(judgement)["cpu.python"]
    seen = facts(stacks=stacks(100, _LINE, script=30, loader=60, model=10))
    starved = rank(shares=shares(wait=0.6, other=0.3, forward=0.05, optimizer=0.0), facts=seen)
    paced = replace(starved, loader=loader(num_workers=2), workers=workers(2, cpu_share=0.95))
    assert "cpu.python" not in found(run(paced))
    assert "cpu.python" in found(run(starved))  # without workers they take turns


def test_a_loop_of_a_millisecond_is_not_blamed_for_being_a_loop() -> None:
    seen = facts(stacks=stacks(100, _LINE, script=30, model=70))
    made = rank(step_ms=1.0, shares=shares(other=0.3, forward=0.2), facts=seen)
    assert "cpu.python" not in found(run(made))


def test_work_without_a_loader() -> None:
    blind = msgspec.structs.replace(shares(other=0.7, forward=0.0, wait=0.0), loader_wait=None, forward=None)
    patterns = StepPatterns(run_steps=200, wait_known=False)
    seen = facts(stacks=stacks(100, _LINE, script=50, model=50))
    finding = lead(run(rank(shares=blind, patterns=patterns, loader=None, facts=seen)))
    assert (finding.code, finding.severity) == ("input.inline", "critical")
    assert finding.share == pytest.approx(0.47)  # without a forward as long as the backward
    unseen = lead(run(rank(shares=blind, patterns=patterns, loader=None)))
    assert (unseen.code, unseen.severity) == ("input.inline", "warning")
    assert unseen.unsure is not None
    calm = facts(stacks=stacks(100, model=60, backward=30, script=10))
    healthy = lead(run(rank(shares=blind, patterns=patterns, loader=None, facts=calm)))
    assert healthy.code == "compute.bound"
    assert "without a loader" in healthy.sentence


# --- pause ---


@pytest.mark.parametrize(
    ("gc_ms", "severity"),
    [(2_900.0, None), (3_000.0, "warning"), (11_900.0, "warning"), (12_000.0, "critical")],
)
def test_garbage(gc_ms: float, severity: str | None) -> None:
    books = GcFacts(
        counts=[9, 5, 3], total_ms=[1, 2, 3], longest_ms=400.0, long_pauses=3, enabled=True, threshold=[700]
    )
    finding = found(run(rank(change=change(gc_ms=gc_ms), facts=facts(gc=books)))).get("pause.gc")
    assert (finding and finding.severity) == severity
    assert "pause.gc" not in found(run(rank(change=change())))


def _pause(kind: str, share: float) -> PauseSignals:
    return PauseSignals(kind=kind, count=4, total_ms=share * 10_000, longest_ms=share * 4_000, share=share)


@pytest.mark.parametrize(
    ("kind", "share", "severity"),
    [
        ("checkpoint", 0.04, None),
        ("checkpoint", 0.05, "info"),
        ("checkpoint", 0.15, "warning"),
        ("checkpoint", 0.20, "critical"),
        ("validation", 0.19, None),
        ("validation", 0.20, "info"),
        ("validation", 0.50, "warning"),
    ],
)
def test_interruptions(kind: str, share: float, severity: str | None) -> None:
    finding = found(run(rank(pauses=(_pause(kind, share),)))).get(f"pause.{kind}")
    assert (finding and finding.severity) == severity


def test_logging_by_looks() -> None:
    place = StackPlace(area="logging", at="train.py:9 log", line="f.flush()", count=30)
    seen = facts(stacks=stacks(100, place, logging=30, model=20, backward=50))
    finding = lead(run(rank(shares=shares(other=0.3, forward=0.2), facts=seen)))
    assert (finding.code, finding.severity) == ("pause.logging", "warning")
    few = facts(stacks=stacks(POLICY.stack_looks - 1, place, logging=30, model=9))
    assert "pause.logging" not in found(run(rank(facts=few)))


# --- memory ---


def _allocator(**changes: float | int) -> AllocatorFacts:
    given: dict[str, float | int] = {
        "allocated_mib": 1000.0,
        "reserved_mib": 2000.0,
        "inactive_split_mib": 0.0,
        "peak_allocated_mib": 1500.0,
        "peak_reserved_mib": 2000.0,
        "alloc_retries": 0,
        "ooms": 0,
        **changes,
    }
    return AllocatorFacts(device="cuda:0", **given)  # type: ignore[arg-type]


def test_out_of_memory_ended_or_survived() -> None:
    ended = run(gpu_rank(facts=facts(allocator=_allocator(ooms=1))), outcome="oom_gpu")
    assert (lead(ended).code, lead(ended).severity) == ("memory.oom", "critical")
    survived = found(run(gpu_rank(facts=facts(allocator=_allocator(ooms=1)))))["memory.oom"]
    assert survived.severity == "warning"
    for none in (None, 0, -1):  # older recordings have counts below 0
        assert "memory.oom" not in found(run(rank(), host=replace(QUIET, oom_kills=none)))
    killed = lead(run(rank(), host=replace(QUIET, oom_kills=1), outcome="oom_host"))
    assert (killed.code, killed.severity, killed.host) == ("memory.oom", "critical", "here")


def test_near_the_limit_by_retries_and_by_the_host() -> None:
    books = facts(allocator=_allocator(alloc_retries=40))
    few = found(run(gpu_rank(change=change(alloc_retries=3), facts=books)))["memory.near_limit"]
    each = found(run(gpu_rank(change=change(alloc_retries=300), facts=books)))["memory.near_limit"]
    assert (few.severity, each.severity) == ("warning", "critical")
    assert "memory.near_limit" not in found(run(gpu_rank(change=change(alloc_retries=0), facts=books)))
    host = replace(QUIET, memory_used_mib=92.0, memory_total_mib=100.0)
    assert found(run(rank(), host=host))["memory.near_limit"].severity == "info"
    swaps = replace(host, memory_used_mib=85.0, swap_in_mib_s=5.0)
    assert found(run(rank(), host=swaps))["memory.near_limit"].severity == "critical"
    assert "memory.near_limit" not in found(run(rank(), host=replace(host, memory_used_mib=91.0)))


def test_fragments_matter_when_memory_is_short() -> None:
    split = _allocator(reserved_mib=120_000.0, inactive_split_mib=30_000.0)
    made = run(gpu_rank(facts=facts(allocator=split)), gpus=(gpu(),))
    assert found(made)["memory.fragmentation"].severity == "info"
    roomy = facts(allocator=_allocator(inactive_split_mib=1_000.0))
    assert "memory.fragmentation" not in found(run(gpu_rank(facts=roomy), gpus=(gpu(),)))


@pytest.mark.parametrize(
    ("grown", "rise", "seen"),
    [(200.0, 0.9, True), (127.0, 0.9, False), (200.0, 0.5, False), (None, 0.9, False)],
)
def test_growth_of_the_process(grown: float | None, rise: float, seen: bool) -> None:
    process = ProcessFacts(rss_mib=2_000.0, threads=4, voluntary_switches=1, involuntary_switches=1)
    made = rank(change=change(kept_mib=grown, kept_rise=rise), facts=facts(process=process))
    assert ("memory.host_growth" in found(run(made))) is seen


def test_growth_on_the_gpu_and_a_start_that_is_too_young() -> None:
    made = gpu_rank(change=change(allocated_mib=500.0, allocated_rise=1.0))
    assert "memory.growth" in found(run(made))
    young = replace(change(allocated_mib=500.0, allocated_rise=1.0), seconds=POLICY.growth_s - 1)
    assert "memory.growth" not in found(run(replace(made, change=young)))


def test_shared_memory() -> None:
    small = replace(QUIET, shm_free_mib=5.0, shm_total_mib=64.0)
    made = rank(loader=loader(num_workers=2))
    assert found(run(made, host=small))["memory.shm"].severity == "warning"
    assert "memory.shm" not in found(run(rank(), host=small))
    assert "memory.shm" not in found(run(made, host=replace(small, shm_free_mib=60.0)))


# --- drift ---


@pytest.mark.parametrize(
    ("fifths", "severity"),
    [
        ((10.0, 11.5, 13.0, 14.5, 16.0), "warning"),
        ((10.0, 12.0, 14.0, 17.0, 20.0), "critical"),
        ((10.0, 11.5, 13.0, 14.5, 15.9), None),  # caches and clocks may do that
        ((29.0, 32.3, 32.8, 36.3, 36.5), None),
        ((10.0, 12.0, 14.0, 13.9, 18.0), None),  # one fall
        ((10.0, 15.0, 17.0, 17.2, 18.0), None),  # lifted once
        ((), None),
    ],
)
def test_steps_that_get_slower(fifths: tuple[float, ...], severity: str | None) -> None:
    made = rank(patterns=StepPatterns(fifths_ms=fifths, run_steps=500))
    finding = found(run(made)).get("drift.slower")
    assert (finding and finding.severity) == severity


@pytest.mark.parametrize(
    ("fifths", "engine", "severity"),
    [
        ((10.0, 10.5, 11.0, 11.5, 12.0), 0.98, "warning"),
        ((10.0, 10.4, 10.8, 11.2, 11.9), 0.98, None),
        ((10.0, 14.0, 9.0, 9.5, 12.5), 0.98, None),
        ((10.0, 10.5, 11.0, 11.5, 12.0), 0.5, None),  # the host sets the pace
        ((10.0, 11.5, 13.0, 14.5, 16.0), 0.5, "warning"),
    ],
)
def test_a_gpu_that_sets_the_pace_is_steadier(
    fifths: tuple[float, ...], engine: float, severity: str | None
) -> None:
    made = gpu_rank(patterns=StepPatterns(fifths_ms=fifths, run_steps=500))
    finding = found(run(made, gpus=(gpu(graphics_share=engine),))).get("drift.slower")
    assert (finding and finding.severity) == severity


def test_a_trend_beside_other_work_is_ours_if_our_cpu_time_grows() -> None:
    some = replace(QUIET, cpu_busy=2.8, run_busy=1.1)
    trend = StepPatterns(fifths_ms=(10, 12, 14, 17, 20), run_steps=500)
    for cpu, seen in (((9, 9, 9, 9, 9.5), False), ((9, 11, 13, 16, 19), True), ((), False)):
        made = rank(patterns=replace(trend, cpu_fifths_ms=cpu))
        assert ("drift.slower" in found(run(made, host=some))) is seen
        assert "drift.slower" in found(run(made))


def test_a_long_run_of_which_too_little_is_known_is_not_judged() -> None:
    def judged(fifths: tuple[float, ...], steps: int) -> dict[str, str]:
        return abstained(judge(run(rank(0, patterns=StepPatterns(fifths_ms=fifths, run_steps=steps)))))

    assert "too few usual ones" in judged((), 500)["drift.slower"]
    assert "drift.slower" not in judged((10.0,) * 5, 500)
    assert "drift.slower" not in judged((), 60), "a short run has no trend"


def test_a_trend_on_a_busy_host_is_not_judged() -> None:
    made = rank(patterns=StepPatterns(fifths_ms=(10, 12, 14, 17, 20), run_steps=500))
    judgement = judge(run(made, host=BUSY))
    assert "drift.slower" not in {each.code for each in judgement.findings}
    assert "other work" in abstained(judgement)["drift.slower"]
