"""Ranks beside each other: communication, data and scaling, at their thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import OptimizerFacts, ParallelFacts, RankFacts
from perftui.ipc.loader_facts import SamplingFacts
from perftui.ipc.view import DeviceView
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.signals import RunSignals

from .made import abstained, ddp, facts, found, gpu, gpu_rank, lead, loader, rank, run
from .ranks_made import LOOKED, arrivals_made, looked_at, member

# --- communication ---


def _pair(comm: float, **changes: object) -> RunSignals:
    """Both ranks wait as long: the exchange itself."""
    return run(*(replace(member(number, comm), **changes) for number in range(2)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("comm", "severity"), [(0.24, None), (0.25, "info"), (0.39, "info"), (0.41, "warning"), (0.6, "warning")]
)
def test_exposed_communication_on_cpus(comm: float, severity: str | None) -> None:
    finding = found(_pair(comm)).get("comm.exposed")
    assert (finding and finding.severity) == severity
    assert ("compute.bound" in found(_pair(comm))) is (severity is None), "that is no 'nothing to fix'"


def test_the_exchange_itself_is_the_shortest_wait_of_each_step() -> None:
    """Ranks that take turns in coming last wait 40 ms in the mean, and for the exchange 5."""
    turns = replace(_pair(0.4), arrivals=looked_at(last=0.5, exchange_ms=5.0))
    assert "comm.exposed" not in found(turns)
    few = replace(turns, arrivals=replace(looked_at(exchange_ms=5.0), looked=POLICY.straggler_looks - 1))
    assert "comm.exposed" in found(few)


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
    judgement = judge(_pair(0.5, patterns=replace(LOOKED, comm_steps=POLICY.comm_steps - 1)))
    assert "comm.exposed" not in {each.code for each in judgement.findings}
    assert "comm.exposed" in abstained(judgement)


@pytest.mark.parametrize(
    ("micro", "syncs", "seen"),
    [(8.0, 8.0, True), (8.0, 1.0, False), (8.0, 1.4, False), (1.0, 2.0, False), (8.0, None, False)],
)
def test_exchanges_after_every_micro_batch(micro: float, syncs: float | None, seen: bool) -> None:
    """Two backwards on one batch (1.0, 2.0), as in a GAN, each need their exchange."""
    patterns = replace(LOOKED, micro_batches=micro)
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
    ("modules", "optimizers", "backwards", "seen"),
    [(1, 1, 8.0, True), (1, 1, 3.0, True), (1, 1, 2.0, False), (2, 1, 8.0, False), (1, 2, 8.0, False)],
)
def test_exchanges_after_every_piece_of_a_step_without_a_loader(
    modules: int, optimizers: int, backwards: float, seen: bool
) -> None:
    """What is added up until the one optimizer steps needs one exchange, whatever the pieces are."""
    told = ddp(modules=modules, backwards_per_step=backwards, syncs_per_step=backwards)
    trained = [OptimizerFacts(kind="SGD", groups=1, tensors=6, parameters=600)] * optimizers
    codes = found(_pair(0.3, facts=msgspec.structs.replace(told, optimizers=trained)))
    assert ("comm.no_sync" in codes) is seen
    if seen:
        assert (
            f"{backwards:.0f} times in a step of {backwards:.0f} backwards" in codes["comm.no_sync"].sentence
        )


@pytest.mark.parametrize(
    ("sizes", "seen"),
    [([0.2] * 8, True), ([0.2] * 7, False), ([1.0] * 8, False), ([32.0], True), ([31.0], False)],
)
def test_buckets(sizes: list[float], seen: bool) -> None:
    chosen = ddp(buckets_mib=sizes, bucket_cap_mb=500.0)
    assert ("comm.buckets" in found(_pair(0.3, facts=chosen))) is seen
    assert "comm.buckets" not in found(_pair(0.05, facts=chosen))


@pytest.mark.parametrize(("cap", "seen"), [(49.0, True), (48.0, False), (25.0, False), (None, False)])
def test_one_bucket_is_the_limits_doing_or_one_parameters(cap: float | None, seen: bool) -> None:
    """An embedding of 48.8 MiB travels alone whatever the limit."""
    pair = _pair(0.5, facts=ddp(buckets_mib=[48.8], bucket_cap_mb=cap))
    assert ("comm.buckets" in found(pair)) is seen


@pytest.mark.parametrize(
    ("sizes", "comm", "severity", "share"),
    [
        ([0.1], 0.20, "warning", 0.10),
        ([0.1], 0.18, "info", 0.0),
        ([0.1] * 3, 0.60, "warning", 0.15),
        ([20.0], 0.60, "info", 0.0),
        (None, 0.60, "info", 0.0),
    ],
)
def test_the_search_for_unused_parameters_costs_one_exchange_of_small_ones(
    sizes: list[float] | None, comm: float, severity: str, share: float
) -> None:
    """With large buckets bytes cost and not calls."""
    signals = _pair(comm, facts=ddp(find_unused_parameters=True, buckets_mib=sizes))
    finding = found(signals)["comm.find_unused"]
    assert (finding.severity, round(finding.share, 3)) == (severity, share)
    if severity == "warning":
        assert lead(signals).code == "comm.find_unused"


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


_JUMPY = (2.0, 1.5, 1.7, 1.2, 1.35)
_SMOOTH = (0.99999, 0.99614, 0.99216, 0.98814, 0.98411)
"""A transformer's with a norm at its end, which hides the batch: recorded on two GPUs with different data."""


def _losses(*values: float) -> tuple[tuple[int, float], ...]:
    return tuple((10 * (n + 1), value) for n, value in enumerate(values))


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        (_JUMPY, _JUMPY, True),
        (_JUMPY, (*_JUMPY[:4], 1.3), False),
        (_JUMPY[:4], _JUMPY[:4], False),
        ((2.0,) * 5, (2.0,) * 5, False),
        (_SMOOTH, _SMOOTH, False),
        ((float("nan"),) * 4, (float("nan"),) * 4, False),
    ],
)
def test_equal_losses_mean_equal_batches(
    first: tuple[float, ...], second: tuple[float, ...], seen: bool
) -> None:
    signals = run(
        replace(member(0, 0.02), losses=_losses(*first)), replace(member(1, 0.02), losses=_losses(*second))
    )
    finding = found(signals).get("data.same_on_ranks")
    assert (finding is not None) is seen
    if finding is not None:
        assert finding.severity == "critical"
        assert lead(signals).code == "data.same_on_ranks"


def test_ranks_that_share_a_model_see_the_same_batches_rightly() -> None:
    """Two of four ranks average gradients; the others hold parts of the same model."""
    ranks = [
        replace(member(n, 0.02), losses=_losses(*_JUMPY), facts=ddp(world_size=2), world_size=4)
        for n in range(4)
    ]
    assert "data.same_on_ranks" not in found(run(*ranks))
    whole = [replace(each, facts=ddp(world_size=4)) for each in ranks]
    assert "data.same_on_ranks" in found(run(*whole))


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
    ranks = [replace(member(n, 0.02), facts=_sampled(seed=n, set_epoch=True)) for n in range(2)]
    assert "seeds" in found(run(*ranks))["data.same_on_ranks"].sentence
    alike = [replace(each, facts=_sampled(set_epoch=True)) for each in ranks]
    assert "data.same_on_ranks" not in found(run(*alike))


def test_no_sampler_and_no_losses_is_not_judged() -> None:
    ranks = [
        replace(member(n, 0.02), facts=_sampled(distributed=False, sampler="RandomSampler")) for n in range(2)
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
    ranks = [replace(member(n, 0.02), facts=_sampled(**changes)) for n in range(2)]
    assert ("data.same_order" in found(run(*ranks))) is seen


@pytest.mark.parametrize(
    ("alike", "seen"), [(None, False), (POLICY.epochs_alike - 1, False), (POLICY.epochs_alike, True)]
)
def test_epochs_that_the_script_seeds_alike(alike: int | None, seen: bool) -> None:
    sampling = SamplingFacts(
        loader=0, sampler="RandomSampler", shuffle=True, epochs_begun=3, epochs_alike=alike
    )
    finding = lead(run(rank(facts=facts(sampling=sampling))))
    assert (finding.code == "data.same_order") is seen


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


@pytest.mark.parametrize(("batch", "comm", "seen"), [(8, 0.41, True), (16, 0.41, False), (8, 0.39, False)])
def test_too_little_work_for_each_exchange(batch: int, comm: float, seen: bool) -> None:
    codes = found(_pair(comm, loader=loader(batch_size=batch)))
    assert ("scaling.small_per_rank_batch" in codes) is seen
    if seen:
        assert codes["comm.exposed"].under == "scaling.small_per_rank_batch"


def test_waiting_for_uneven_ranks_is_no_matter_of_the_batch_size() -> None:
    """Of 60 ms in the exchange 25 are spent waiting for the last."""
    arrivals = arrivals_made(
        (10.0, 0.5), (10.0, 0.5), lost_ms=25.0, lost_cpu_ms=25.0, uneven=0.4, most_cpu_share=0.5
    )
    codes = found(replace(_pair(0.6, loader=loader(batch_size=1)), arrivals=arrivals))
    assert "scaling.small_per_rank_batch" not in codes
    assert codes["comm.exposed"].under == "rank.imbalance"
