"""Ranks beside each other: communication, stragglers by arrival, data and scaling, at their thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import ParallelFacts, RankFacts, SamplingFacts, StackPlace
from perftui.ipc.view import DeviceView, Shares
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import (
    Arrival,
    Arrivals,
    HostSignals,
    RankSignals,
    RunSignals,
    StepPatterns,
)

from .made import BUSY, QUIET, abstained, ddp, facts, found, gpu, gpu_rank, lead, loader, rank, run, stacks

_LOOKED = StepPatterns(run_steps=200, comm_steps=8, samples=32.0)


def _member(
    number: int, comm: float | None, *, patterns: StepPatterns = _LOOKED, **parts: float
) -> RankSignals:
    """One of two ranks on a CPU; what is not said is backward."""
    given = {"loader_wait": 0.02, "forward": 0.2, "optimizer": 0.05, "other": 0.01, **parts}
    rest = 1 - sum(given.values()) - (comm or 0.0)
    return replace(
        rank(number),
        shares=Shares(backward=rest, comm_exposed=comm, **given),
        patterns=patterns,
        facts=ddp(),
        world_size=2,
    )


def _arrivals(
    *late: tuple[float, float], lost_ms: float = 0.0, steps: int = 100, lost_cpu_ms: float | None = None
) -> Arrivals:
    ranks = tuple(Arrival(rank=n, late_ms=ms, last_share=share) for n, (ms, share) in enumerate(late))
    return Arrivals(steps=steps, ranks=ranks, lost_ms=lost_ms, lost_cpu_ms=lost_cpu_ms)


# --- stragglers ---


@pytest.mark.parametrize(
    ("gap", "severity"), [(0.09, None), (0.11, "warning"), (0.19, "warning"), (0.21, "critical")]
)
def test_the_rank_that_waits_least_for_the_exchange_came_last(gap: float, severity: str | None) -> None:
    """Lab: 100 ms more in rank 1's backward leave both backwards equally long; only the waits differ."""
    first, second = _member(0, 0.02 + gap), _member(1, 0.02)
    finding = found(run(first, second)).get("rank.straggler_compute")
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert finding.rank == 1
        assert finding.unsure is None
        assert "Rank 1 comes last" in finding.sentence


def test_few_looks_show_large_gaps_only() -> None:
    few = replace(_LOOKED, comm_steps=POLICY.straggler_looks - 1)
    small = run(_member(0, 0.3, patterns=few), _member(1, 0.02, patterns=few))
    assert "rank.straggler_compute" not in found(small)
    large = run(_member(0, 0.5, patterns=few), _member(1, 0.02, patterns=few))
    assert "rank.straggler_compute" in found(large)


def test_what_a_late_rank_does_besides_is_the_hosts() -> None:
    place = StackPlace(area="script", at="train.py:9 main", line="evaluate(model)", count=34)
    late = _member(1, 0.02, other=0.35)
    looked = msgspec.structs.replace(late.facts, stacks=stacks(100, place, script=34, model=66))
    signals = run(_member(0, 0.36), replace(late, facts=looked))
    finding = lead(signals)
    assert (finding.code, finding.rank, finding.severity) == ("rank.straggler_host", 1, "critical")
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:9 main"
    assert "cpu.python" not in found(signals), "it is said once"


def test_the_longest_backward_is_no_ground_for_blame() -> None:
    """Nothing was timed, and nobody has more to do before the backward."""
    ranks = (_member(0, None, patterns=replace(_LOOKED, comm_steps=0)), _member(1, None, forward=0.19))
    codes = found(run(*ranks, arrivals=_arrivals((0.5, 0.5), (0.6, 0.5))))
    assert not any(code.startswith("rank.") for code in codes)


def test_without_timing_the_work_before_the_backward_tells() -> None:
    unseen = replace(_LOOKED, comm_steps=0)
    late = _member(1, None, patterns=unseen, forward=0.5)
    signals = run(_member(0, None, patterns=unseen), late, arrivals=_arrivals((0.5, 0.1), (30.0, 0.9)))
    finding = lead(signals)
    assert (finding.code, finding.rank) == ("rank.straggler_compute", 1)
    assert finding.unsure is not None
    rotating = replace(signals, arrivals=_arrivals((0.5, 0.31), (30.0, 0.69)))
    assert "rank.straggler_compute" not in found(rotating)


def test_ranks_that_do_not_keep_step_hold_nobody_up() -> None:
    quick = replace(_member(0, 0.4), step_ms=rank(step_ms=50.0).step_ms)
    assert "rank.straggler_compute" not in found(run(quick, _member(1, 0.02)))


@pytest.mark.parametrize(
    ("lost_ms", "most", "severity"),
    [(9.0, 0.5, None), (10.0, 0.5, "warning"), (40.0, 0.6, "critical"), (40.0, 0.61, None)],
)
def test_ranks_that_take_turns_in_coming_last(lost_ms: float, most: float, severity: str | None) -> None:
    arrivals = _arrivals((10.0, most), (10.0, 1 - most), lost_ms=lost_ms, lost_cpu_ms=lost_ms)
    finding = found(run(_member(0, 0.05), _member(1, 0.05), arrivals=arrivals)).get("rank.imbalance")
    assert (finding and finding.severity) == severity


def test_uneven_ranks_are_told_from_chance_by_their_cpu_time() -> None:
    def codes(lost_ms: float, cpu_ms: float | None, host: HostSignals = QUIET) -> set[str]:
        arrivals = _arrivals((10.0, 0.5), (10.0, 0.5), lost_ms=lost_ms, lost_cpu_ms=cpu_ms)
        return set(found(run(_member(0, 0.05), _member(1, 0.05), arrivals=arrivals, host=host)))

    assert "rank.imbalance" in codes(19.0, 6.0)
    assert "rank.imbalance" not in codes(19.0, 5.0)
    assert "rank.imbalance" in codes(20.0, None)
    assert "rank.imbalance" in codes(20.0, 8.0, BUSY)
    assert "rank.imbalance" not in codes(20.0, 1.0, BUSY)
    assert "rank.imbalance" in codes(4.0, 12.0), "the backward's own work is in the CPU time alone"


def test_on_a_busy_host_stragglers_come_after_it() -> None:
    findings = judge(run(_member(0, 0.3), _member(1, 0.02), host=BUSY)).findings
    assert [f.code for f in findings][:2] == ["self.contended", "rank.straggler_compute"]
    assert findings[1].severity == "warning"
    sure = judge(run(_member(0, 0.5), _member(1, 0.02), host=BUSY)).findings
    assert (sure[0].code, sure[0].severity) == ("rank.straggler_compute", "critical")


# --- communication ---


def _pair(comm: float, **changes: object) -> RunSignals:
    """Both ranks wait as long: the exchange itself."""
    return run(*(replace(_member(number, comm), **changes) for number in range(2)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("comm", "severity"), [(0.09, None), (0.10, "info"), (0.49, "info"), (0.51, "warning"), (0.6, "warning")]
)
def test_exposed_communication_on_cpus(comm: float, severity: str | None) -> None:
    finding = found(_pair(comm)).get("comm.exposed")
    assert (finding and finding.severity) == severity


def test_exposed_communication_on_gpus_is_the_devices() -> None:
    times = DeviceView(
        sampled_steps=5,
        step_ms=100.0,
        wait_ms=0.0,
        forward_ms=30.0,
        backward_ms=40.0,
        comm_exposed_ms=20.0,
        optimizer_ms=5.0,
        other_ms=5.0,
    )
    ranks = [
        replace(gpu_rank(number), device_ms=times, facts=ddp(backend="nccl"), world_size=2)
        for number in range(2)
    ]
    finding = found(run(*ranks, gpus=(gpu(ranks=[0, 1]),)))["comm.exposed"]
    assert (finding.severity, finding.share) == ("warning", 0.2)


def test_communication_that_was_not_looked_at_is_not_judged() -> None:
    judgement = judge(_pair(0.5, patterns=replace(_LOOKED, comm_steps=POLICY.comm_steps - 1)))
    assert "comm.exposed" not in {each.code for each in judgement.findings}
    assert "comm.exposed" in abstained(judgement)


@pytest.mark.parametrize(
    ("micro", "syncs", "seen"),
    [(8.0, 8.0, True), (8.0, 1.0, False), (8.0, 1.4, False), (1.0, 2.0, False), (8.0, None, False)],
)
def test_exchanges_after_every_micro_batch(micro: float, syncs: float | None, seen: bool) -> None:
    """Two backwards on one batch (1.0, 2.0), as in a GAN, each need their exchange."""
    patterns = replace(_LOOKED, micro_batches=micro)
    made = _pair(0.3, patterns=patterns, facts=ddp(backwards_per_step=micro, syncs_per_step=syncs))
    codes = found(made)
    assert ("comm.no_sync" in codes) is seen
    if seen:
        assert codes["comm.no_sync"].severity == "warning"
        assert abs(codes["comm.no_sync"].share - 0.3 * 7 / 8) < 1e-9
        assert (codes["comm.exposed"].under, codes["comm.exposed"].remedy) == ("comm.no_sync", None)
    if syncs is None:
        assert "comm.no_sync" in abstained(judge(made))


@pytest.mark.parametrize(
    ("sizes", "seen"),
    [([0.2] * 8, True), ([0.2] * 7, False), ([1.0] * 8, False), ([32.0], True), ([31.0], False)],
)
def test_buckets(sizes: list[float], seen: bool) -> None:
    assert ("comm.buckets" in found(_pair(0.3, facts=ddp(buckets_mib=sizes)))) is seen
    assert "comm.buckets" not in found(_pair(0.05, facts=ddp(buckets_mib=sizes)))


def test_flags_and_ways_of_communication() -> None:
    assert found(_pair(0.05, facts=ddp(find_unused_parameters=True)))["comm.find_unused"].severity == "info"
    assert "comm.find_unused" not in found(_pair(0.05))
    on_gpus = run(
        *(replace(gpu_rank(n), facts=ddp(), world_size=2) for n in range(2)), gpus=(gpu(ranks=[0, 1]),)
    )
    assert found(on_gpus)["comm.backend"].severity == "warning"
    assert "comm.backend" not in found(_pair(0.05))
    copied = gpu_rank(facts=facts(parallel=ParallelFacts(data_parallel=True)))
    assert "DataParallel" in found(run(copied, gpus=(gpu(),)))["comm.backend"].sentence


def test_a_switch_that_takes_the_fast_way_away() -> None:
    def codes(value: str, comm_ms: float | None) -> set[str]:
        times = None
        if comm_ms is not None:
            times = DeviceView(
                sampled_steps=5,
                step_ms=100.0,
                wait_ms=0.0,
                forward_ms=30.0,
                backward_ms=40.0,
                comm_exposed_ms=comm_ms,
                optimizer_ms=5.0,
                other_ms=5.0,
            )
        environment = {"NCCL_P2P_DISABLE": value}
        told = msgspec.structs.replace(ddp(backend="nccl"), environment=environment)
        ranks = [replace(gpu_rank(n), facts=told, world_size=2, device_ms=times) for n in range(2)]
        return set(found(run(*ranks, gpus=(gpu(ranks=[0, 1]),))))

    assert "comm.fabric" in codes("1", 30.0)
    assert "comm.fabric" in codes("1", None)
    assert "comm.fabric" not in codes("1", 2.0)
    assert "comm.fabric" not in codes("0", 30.0)


# --- data, scaling ---


def _losses(*values: float) -> tuple[tuple[int, float], ...]:
    return tuple((10 * (n + 1), value) for n, value in enumerate(values))


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        ((2.0, 1.5, 1.2), (2.0, 1.5, 1.2), True),
        ((2.0, 1.5, 1.2), (2.0, 1.5, 1.3), False),
        ((2.0, 1.5), (2.0, 1.5), False),
        ((2.0, 2.0, 2.0), (2.0, 2.0, 2.0), False),
        ((float("nan"),) * 4, (float("nan"),) * 4, False),
    ],
)
def test_equal_losses_mean_equal_batches(
    first: tuple[float, ...], second: tuple[float, ...], seen: bool
) -> None:
    signals = run(
        replace(_member(0, 0.02), losses=_losses(*first)), replace(_member(1, 0.02), losses=_losses(*second))
    )
    finding = found(signals).get("data.same_on_ranks")
    assert (finding is not None) is seen
    if finding is not None:
        assert finding.severity == "critical"
        assert lead(signals).code == "data.same_on_ranks"


def _sampled(**changes: object) -> RankFacts:
    made = SamplingFacts(
        loader=0,
        sampler="DistributedSampler",
        shuffle=True,
        distributed=True,
        num_replicas=2,
        seed=0,
        epochs_begun=3,
        epoch=0,
        set_epoch=False,
    )
    return msgspec.structs.replace(ddp(), sampling=msgspec.structs.replace(made, **changes))


def test_samplers_with_other_seeds() -> None:
    ranks = [replace(_member(n, 0.02), facts=_sampled(seed=n, set_epoch=True)) for n in range(2)]
    assert "seeds" in found(run(*ranks))["data.same_on_ranks"].sentence
    alike = [replace(each, facts=_sampled(set_epoch=True)) for each in ranks]
    assert "data.same_on_ranks" not in found(run(*alike))


def test_no_sampler_and_no_losses_is_not_judged() -> None:
    ranks = [
        replace(_member(n, 0.02), facts=_sampled(distributed=False, sampler="RandomSampler"))
        for n in range(2)
    ]
    judgement = judge(run(*ranks))
    assert "data.same_on_ranks" not in {each.code for each in judgement.findings}
    assert "data.same_on_ranks" in abstained(judgement)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({}, True),
        ({"set_epoch": True}, False),
        ({"set_epoch": None}, False),
        ({"epochs_begun": 1}, False),
        ({"shuffle": False}, False),
        ({"distributed": False}, False),
    ],
)
def test_epochs_in_the_same_order(changes: dict[str, object], seen: bool) -> None:
    ranks = [replace(_member(n, 0.02), facts=_sampled(**changes)) for n in range(2)]
    assert ("data.same_order" in found(run(*ranks))) is seen


def test_streams_that_every_worker_reads_whole() -> None:
    stream = loader(iterable=True, sharded=False, num_workers=4, dataset="Stream")
    assert found(run(rank(loader=stream)))["data.iterable_duplicates"].severity == "warning"
    assert "data.iterable_duplicates" not in found(run(rank(loader=loader(iterable=True, sharded=False))))
    unknown = loader(iterable=True, sharded=None, num_workers=4)
    judgement = judge(run(rank(loader=unknown)))
    assert "data.iterable_duplicates" not in {each.code for each in judgement.findings}
    assert "data.iterable_duplicates" in abstained(judgement)


def test_what_one_run_does_not_tell_is_said() -> None:
    told = abstained(judge(_pair(0.02)))
    assert {"scaling.efficiency", "scaling.learning_rate"} <= set(told)
    assert "scaling.efficiency" not in abstained(judge(run(rank())))
    prepared = _sampled(worker_init_fn=True)
    alone = rank(loader=loader(num_workers=2), facts=facts(sampling=prepared.sampling))
    assert "data.worker_seed" in abstained(judge(run(alone)))


@pytest.mark.parametrize(("batch", "comm", "seen"), [(8, 0.3, True), (16, 0.3, False), (8, 0.19, False)])
def test_too_little_work_for_each_exchange(batch: int, comm: float, seen: bool) -> None:
    codes = found(_pair(comm, loader=loader(batch_size=batch)))
    assert ("scaling.small_per_rank_batch" in codes) is seen
    if seen:
        assert codes["comm.exposed"].under == "scaling.small_per_rank_batch"
