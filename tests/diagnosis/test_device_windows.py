"""Host against device, from made profiling windows and readings of a GPU: each rule at its thresholds."""

import msgspec.structs
import pytest

from perftui.ipc.facts import (
    BatchFacts,
    BatchSignature,
    TensorFacts,
)
from perftui.ipc.trace_report import (
    CopyFigures,
    LaunchFigures,
    OperatorFigures,
    RankReport,
    SyncFigures,
    TrustCheck,
)
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.profiling.thresholds import MANY_READS
from perftui.trainer.profiling.value_reads import launched_reads

from .made import (
    copying,
    facts,
    found,
    gpu,
    gpu_rank,
    loader,
    rank,
    report,
    run,
    shares,
    workers,
)


def _launches(**changes: float) -> LaunchFigures:
    made = LaunchFigures(
        count=2000,
        graph_launches=0,
        driver_launches=0,
        per_step=1000.0,
        call_us_total=9000.0,
        call_us_p50=6.0,
        call_us_max=90.0,
        device_us_p50=3.0,
        delay_us_p50=2.0,
        delay_us_p90=9.0,
        delay_us_max=40.0,
        short_share=0.8,
        slow_calls=0,
        long_delays=0,
    )
    return msgspec.structs.replace(made, **changes)


_ITEM = SyncFigures(
    call="cudaStreamSynchronize",
    operator="aten::item",
    where="train.py:61 main",
    count=2,
    per_step=1.0,
    total_us=6_000.0,
    share=0.3,
)


@pytest.mark.parametrize(
    ("sync", "host", "severity"),
    [
        (0.04, 0.3, None),
        (0.05, 0.3, "warning"),
        (0.19, 0.1, "warning"),
        (0.20, 0.1, "critical"),
        (0.10, 0.0, None),
    ],
)
def test_waiting_calls_cost_where_the_gpu_idles_for_them(
    sync: float, host: float, severity: str | None
) -> None:
    """With the GPU busy the host has to wait somewhere: no finding, and no remedy."""
    made = gpu_rank(report=report(sync=sync, host=host, syncs=[_ITEM]))
    finding = found(run(made, gpus=(gpu(),))).get("sync.each_step")
    assert (finding and finding.severity) == severity
    if finding is not None and finding.remedy is not None:
        assert finding.remedy.at == "train.py:61 main"
        assert "aten::item" in finding.sentence


def test_the_call_behind_which_the_gpu_idles_is_named_and_not_the_longest() -> None:
    item = msgspec.structs.replace(_ITEM, drained_us=6_000.0)
    longer = msgspec.structs.replace(_ITEM, operator="throttle", where="train.py:9 main", total_us=9_000.0)
    made = gpu_rank(report=report(sync=0.3, syncs=[longer, item]))
    finding = found(run(made, gpus=(gpu(),)))["sync.each_step"]
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:61 main"
    assert "aten::item" in finding.sentence


def test_what_a_waiting_call_has_drained_counts_to_it_and_not_to_launches() -> None:
    drained = report(
        sync=0.02, host=0.45, syncs=[_ITEM], sync_drained_share=0.40, launches=_launches(), operators=[]
    )
    codes = found(run(gpu_rank(report=drained), gpus=(gpu(),)))
    assert (codes["sync.each_step"].severity, codes["sync.each_step"].share) == ("critical", 0.40)
    assert "launch.bound" not in codes
    kept = msgspec.structs.replace(drained, sync_drained_share=0.0)
    assert set(found(run(gpu_rank(report=kept), gpus=(gpu(),)))) == {"launch.bound"}


def _reads(count: int, **changes: object) -> RankReport:
    """Two steps with 1000 launches, of which so many are reads of values that find the GPU idle."""
    copy = CopyFigures(
        kind="DtoH (Device -> Pinned)", pageable=False, count=count, total_us=count * 1.4, mib=0.0, gib_s=0.0,
        exposed_us=0.0, per_step=count / 2,
    )  # fmt: skip
    read = msgspec.structs.replace(
        _ITEM, operator="aten::_local_scalar_dense", count=count, per_step=count / 2
    )
    made = report(
        sync=0.05, host=0.35, latency=0.2, syncs=[read], memcpy=[copy], sync_drained_share=0.2,
        launches=_launches(count=1000, per_step=500.0),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def test_values_that_are_read_one_by_one_are_no_launches() -> None:
    """As a memory with priorities does: 512 numbers a step, each by float()."""
    codes = found(run(gpu_rank(report=_reads(800)), gpus=(gpu(),)))
    assert "launch.bound" not in codes
    finding = codes["sync.each_step"]
    assert finding.share == pytest.approx(0.2 + 0.8 * 0.2)
    assert finding.remedy is not None
    assert ".tolist()" in (finding.remedy.advice or "")
    assert ("launches that are reads of values", 0.8) in [(e.name, e.value) for e in finding.evidence]


@pytest.mark.parametrize(
    ("count", "held"),
    [(501, True), (500, False), (2 * MANY_READS, False), (2 * MANY_READS - 1, False), (0, False)],
)
def test_launches_of_which_half_are_reads(count: int, held: bool) -> None:
    """The GPU idles longer for the others here: 0.3 of the window against 0.3."""
    made = _reads(count, operators=[])
    codes = found(run(gpu_rank(report=msgspec.structs.replace(made, sync_drained_share=0.1)), gpus=(gpu(),)))
    assert ("launch.bound" not in codes) is held
    assert "sync.each_step" in codes


def test_launches_where_the_gpu_idles_longer_for_fewer_reads() -> None:
    made = msgspec.structs.replace(_reads(400), sync_drained_share=0.3)
    codes = found(run(gpu_rank(report=made), gpus=(gpu(),)))
    assert "launch.bound" not in codes
    assert codes["sync.each_step"].share == pytest.approx(0.3 + 0.4 * 0.2)


def test_copies_to_the_host_that_nobody_waits_for_are_launches() -> None:
    offloaded = msgspec.structs.replace(_reads(800, operators=[]), syncs=[_ITEM], sync_drained_share=0.0)
    codes = found(run(gpu_rank(report=offloaded), gpus=(gpu(),)))
    assert "launch.bound" in codes


def test_waits_for_copies_to_the_gpu_are_no_reads() -> None:
    """Each is waited for twice, in its call and for its stream; one number is read back for each."""
    made = _reads(800, operators=[])
    staged = CopyFigures(
        kind="HtoD (Pageable -> Device)", pageable=True, count=400, total_us=400.0, mib=0.1, gib_s=0.1,
        exposed_us=0.0, per_step=200.0,
    )  # fmt: skip
    assert launched_reads(made) == 800
    assert launched_reads(msgspec.structs.replace(made, memcpy=[*made.memcpy, staged])) == 0


def test_reads_that_are_not_believed_leave_the_launches() -> None:
    """A check of the trace speaks against the waits: then nothing would be said of either."""
    check = TrustCheck(name="x", passed=False, value=1.0, text="lost", suppresses=["sync.each_step"])
    codes = found(run(gpu_rank(report=_reads(800, operators=[], trust=[check])), gpus=(gpu(),)))
    assert "sync.each_step" not in codes
    assert "launch.bound" in codes


def test_without_a_window_waiting_calls_are_not_judged() -> None:
    judgement = judge(run(gpu_rank(), gpus=(gpu(),)))
    assert (
        "profile window"
        in {each.settled_by for each in judgement.abstained if each.code == "sync.each_step"}.pop()
    )
    assert "sync.each_step" not in {each.code for each in judge(run(rank())).abstained}


def test_a_failed_check_of_the_trace_suppresses_what_it_names() -> None:
    check = TrustCheck(
        name="distortion", passed=False, value=2.0, text="twice as slow", suppresses=["sync.each_step"]
    )
    made = gpu_rank(report=report(sync=0.3, syncs=[_ITEM], trust=[check]))
    assert "sync.each_step" not in found(run(made, gpus=(gpu(),)))


@pytest.mark.parametrize(
    ("host", "changes", "severity"),
    [
        (0.19, {}, None),
        (0.20, {}, "warning"),
        (0.40, {}, "critical"),
        (0.40, {"short_share": 0.49}, None),
        (0.40, {"delay_us_p50": 10.0}, None),
    ],
)
def test_launches(host: float, changes: dict[str, float], severity: str | None) -> None:
    operators = [
        OperatorFigures(
            name="aten::addmm",
            count=900,
            total_us=1,
            self_us=1,
            device_us=1,
            self_device_us=1,
            share=0.2,
            host_per_device=3.0,
        )
    ]
    made = gpu_rank(report=report(host=host, launches=_launches(**changes), operators=operators))
    finding = found(run(made, gpus=(gpu(),))).get("launch.bound")
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert "aten::addmm" in finding.sentence
        assert finding.remedy is not None
        assert "experiment" in (finding.remedy.advice or "")


@pytest.mark.parametrize(
    ("engine", "cpu", "code"),
    [
        (0.69, 0.95, "launch.bound"),
        (0.70, 0.95, "compute.bound"),
        (0.5, 0.6, None),
        (0.95, 1.0, "compute.bound"),
    ],
)
def test_launches_by_the_gpus_own_counters(engine: float, cpu: float, code: str | None) -> None:
    """ResNet-50 at batch 16 on an H200: 23 ms of launches for 5 ms of work."""
    judgement = judge(run(gpu_rank(cpu_share=cpu), gpus=(gpu(graphics_share=engine),)))
    assert next(iter(each.code for each in judgement.findings), None) == code


def test_a_starved_gpu_is_no_launch_problem() -> None:
    starved = gpu_rank(
        shares=shares(wait=0.5, forward=0.2), loader=loader(num_workers=2), workers=workers(2, cpu_share=0.9)
    )
    codes = found(run(starved, gpus=(gpu(graphics_share=0.4),)))
    assert "input.workers" in codes
    assert {"launch.bound", "compute.small_batch", "transfer.pageable"}.isdisjoint(codes)


# --- transfer ---


def _batch(*, pinned: bool) -> BatchFacts:
    tensor = TensorFacts(shape=[256, 3, 224, 224], dtype="float32", device="cpu", pinned=pinned)
    return BatchFacts(looked=1, newest=BatchSignature(tensors=[tensor]), distinct_shapes=1)


def test_pageable_copies() -> None:
    def code(h2d_ms: float, *, pinned: bool, pin_memory: bool) -> bool:
        made = gpu_rank(
            device_ms=copying(h2d_ms),
            facts=facts(batch=_batch(pinned=pinned)),
            loader=loader(pin_memory=pin_memory),
        )
        return "transfer.pageable" in found(run(made, gpus=(gpu(),)))

    assert code(5.0, pinned=False, pin_memory=False)
    assert not code(4.9, pinned=False, pin_memory=False)
    assert not code(20.0, pinned=True, pin_memory=False)
    assert not code(20.0, pinned=False, pin_memory=True)
    made = gpu_rank(device_ms=copying(20.0), loader=loader(index=1))
    remedy = found(run(made, gpus=(gpu(),)))["transfer.pageable"].remedy
    assert remedy is not None
    assert remedy.set == {"loader[1].pin_memory": True}


def test_many_small_copies() -> None:
    def code(per_step: float, mib: float) -> bool:
        copy = CopyFigures(
            kind="HtoD (Pageable -> Device)",
            pageable=True,
            count=int(2 * per_step),
            total_us=400.0,
            mib=mib,
            gib_s=0.1,
            exposed_us=400.0,
            per_step=per_step,
        )
        made = gpu_rank(report=report(host=0.5, memcpy=[copy]))
        return "transfer.many_small" in found(run(made, gpus=(gpu(),)))

    assert code(POLICY.small_copies, 0.1)
    assert not code(POLICY.small_copies - 1, 0.1)
    assert not code(POLICY.small_copies, 1000.0)
