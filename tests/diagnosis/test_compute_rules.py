"""The model on its device: each rule at its thresholds."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import (
    AllocatorFacts,
    FsdpFacts,
    ModelFacts,
    OptimizerFacts,
    ParallelFacts,
)
from perftui.ipc.trace_report import KernelFigures
from perftui.trainer.diagnosis import judge

from .made import (
    QUIET,
    abstained,
    backends,
    facts,
    found,
    gpu,
    gpu_rank,
    lead,
    loader,
    rank,
    report,
    run,
    shares,
    stacks,
)


def _model(**changes: object) -> ModelFacts:
    made = ModelFacts(
        tensors=60,
        parameters=1_000_000,
        mib=4.0,
        dtypes={"float32": 1_000_000},
        devices={"cpu": 1_000_000},
    )
    return msgspec.structs.replace(made, **changes)


def test_a_model_on_the_cpu_beside_a_gpu() -> None:
    there = replace(QUIET, gpus_present=2)
    made = rank(facts=facts(model=_model()))
    assert (lead(run(made, host=there)).code, lead(run(made, host=there)).severity) == (
        "compute.device",
        "critical",
    )
    assert lead(run(made)).code == "compute.bound"
    assert "compute.device" not in found(run(made, host=replace(QUIET, gpus_present=None)))
    hidden = rank(facts=facts(model=_model(), environment={"CUDA_VISIBLE_DEVICES": ""}))
    assert "compute.device" not in found(run(hidden, host=there))
    split = gpu_rank(facts=facts(model=_model(devices={"cpu": 300_000, "cuda:0": 700_000})))
    assert found(run(split, gpus=(gpu(),)))["compute.device"].severity == "warning"


def test_parameters_that_are_kept_on_the_cpu_are_no_model_there() -> None:
    there, kept = replace(QUIET, gpus_present=2), _model()
    used = AllocatorFacts(
        device="cuda:0", allocated_mib=0.0, reserved_mib=90.0, inactive_split_mib=0.0,
        peak_allocated_mib=80.0, peak_reserved_mib=90.0, alloc_retries=0, ooms=0,
    )  # fmt: skip
    unused = msgspec.structs.replace(used, peak_allocated_mib=0.5)
    sharded = ParallelFacts(fsdp=FsdpFacts(version=2, units=4, cpu_offload=True))
    inside = msgspec.structs.replace(sharded, fsdp=FsdpFacts(version=2, units=4, cpu_offload=False))
    for made, seen in (
        (gpu_rank(facts=facts(model=kept)), False),
        (rank(facts=facts(model=kept, allocator=used)), False),
        (rank(facts=facts(model=kept, allocator=unused)), True),
        (rank(facts=facts(model=kept, parallel=sharded)), False),
        (rank(facts=facts(model=kept, parallel=inside)), True),
    ):
        assert ("compute.device" in found(run(made, host=there))) is seen
    half = _model(devices={"cpu": 500_000, "cuda:0": 500_000})
    assert "compute.device" not in found(run(gpu_rank(facts=facts(model=half, parallel=sharded))))


def test_exact_products_with_idle_tensor_cores() -> None:
    model = _model(devices={"cuda:0": 1_000_000})
    exact = msgspec.structs.replace(backends(float32_matmul_precision="highest"), model=model)
    idle, working = gpu(tensor_active_share=0.0), gpu()
    assert "compute.fp32" in found(run(gpu_rank(facts=exact), gpus=(idle,)))
    assert "compute.fp32" not in found(run(gpu_rank(facts=exact), gpus=(working,)))
    tf32 = msgspec.structs.replace(backends(float32_matmul_precision="high"), model=model)
    assert "compute.fp32" not in found(run(gpu_rank(facts=tf32), gpus=(idle,)))
    half = msgspec.structs.replace(exact, model=_model(dtypes={"bfloat16": 1_000_000}, devices=model.devices))
    assert "compute.fp32" not in found(run(gpu_rank(facts=half), gpus=(idle,)))
    unread = gpu(tensor_active_share=None)
    assert "compute.fp32" in abstained(judge(run(gpu_rank(facts=exact), gpus=(unread,))))


def test_formats_that_are_turned() -> None:
    model = _model(devices={"cuda:0": 1_000_000}, four_d=53, channels_last=0.0)
    turning = KernelFigures(
        name="void nchwToNhwcKernel<float>",
        kind="other",
        count=10,
        total_us=1,
        self_us=1,
        mean_us=1,
        max_us=1,
        share=0.06,
        tensor_cores=None,
    )
    made = gpu_rank(facts=facts(model=model), report=report(kernels=[turning]))
    turned = found(run(made, gpus=(gpu(),)))["compute.layout"]
    assert turned.share == 0.06
    assert turned.remedy is not None
    assert (turned.remedy.bound, turned.remedy.expected) == (None, 1.06)
    less = report(kernels=[msgspec.structs.replace(turning, share=0.04)])
    assert "compute.layout" not in found(run(replace(made, report=less), gpus=(gpu(),)))
    assert "compute.layout" in abstained(judge(run(replace(made, report=None), gpus=(gpu(),))))


def test_small_batches_on_a_gpu_with_room() -> None:
    roomy = gpu(sm_active_share=0.3, memory_used_mib=10_000.0)
    made = gpu_rank(loader=loader(batch_size=8))
    assert found(run(made, gpus=(roomy,)))["compute.small_batch"].severity == "info"
    for other in (gpu(sm_active_share=0.8, memory_used_mib=10_000.0), gpu(sm_active_share=0.3)):
        assert "compute.small_batch" not in found(run(made, gpus=(other,)))
    assert "compute.small_batch" not in found(run(gpu_rank(loader=loader(batch_size=16)), gpus=(roomy,)))


@pytest.mark.parametrize(
    ("share", "severity"), [(0.34, None), (0.35, "info"), (0.49, "info"), (0.50, "warning"), (0.9, "warning")]
)
def test_optimizer(share: float, severity: str | None) -> None:
    kind = OptimizerFacts(
        kind="Adam", groups=1, tensors=600, parameters=10, flags={"foreach": False, "fused": None}
    )
    made = rank(shares=shares(optimizer=share, forward=0.02), facts=facts(optimizers=[kind]))
    finding = found(run(made)).get("compute.optimizer")
    assert (finding and finding.severity) == severity


def test_an_optimizer_that_is_given_a_closure_computes_the_model() -> None:
    inside = replace(
        rank(), shares=msgspec.structs.replace(shares(), optimizer=0.98, forward=None, backward=None)
    )
    assert "compute.optimizer" not in found(run(inside))
    looked = facts(stacks=stacks(100, model=40, backward=50, optimizer=10))
    mixed = rank(shares=shares(optimizer=0.8, forward=0.02), facts=looked)
    assert "compute.optimizer" not in found(run(mixed))


def test_denormal_weights() -> None:
    assert (
        found(run(rank(facts=facts(model=_model(subnormal=0.01)))))["compute.denormals"].severity == "warning"
    )
    assert "compute.denormals" not in found(run(rank(facts=facts(model=_model(subnormal=0.009)))))
    assert "compute.denormals" not in found(run(rank(facts=facts(model=_model(subnormal=None)))))
