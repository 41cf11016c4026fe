"""How a busy GPU is used, and how full it is: exact products, memory, clocks, and that all is well."""

import msgspec.structs
import pytest

from perftui.ipc.facts import AllocatorFacts, BackendFacts, ModelFacts, RankFacts
from perftui.ipc.trace_report import GpuShares, KernelFigures, RankReport
from perftui.ipc.view import DeviceView
from perftui.trainer.diagnosis import RankSignals, judge
from perftui.trainer.diagnosis.signals import StepPatterns

from .made import abstained, change, facts, found, gpu, gpu_rank, lead, loader, report, run, shares

_MODEL = ModelFacts(
    tensors=96, parameters=1000, mib=0.1, dtypes={"float32": 1000}, devices={"cuda:0": 1000}, four_d=0
)
_EXACT = facts(backends=BackendFacts(float32_matmul_precision="highest", cudnn_allow_tf32=True), model=_MODEL)
_ALONE = StepPatterns(run_steps=200, wait_known=False)


def _kernel(name: str, share: float, *, kind: str = "gemm", cores: bool | None = False) -> KernelFigures:
    return KernelFigures(
        name=name,
        kind=kind,
        count=100,
        total_us=100.0,
        self_us=100.0,
        mean_us=1.0,
        max_us=2.0,
        share=share,
        tensor_cores=cores,
    )


def _busy(*kernels: KernelFigures, **gone: float) -> RankReport:
    parts = {"overlap": 0.0, "comm_exposed": 0.0, "mem_exposed": 0.0, "idle": 0.02} | gone
    shared = GpuShares(compute_only=1 - sum(parts.values()), **parts)
    return report(latency=parts["idle"], gpu=shared, kernels=list(kernels), tensor_core_share=0.06)


def test_exact_products_cost_what_their_kernels_take() -> None:
    kernels = [
        _kernel("cutlass_80_simt_sgemm_128x256_8x4_nt_align1", 0.5),
        _kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn", 0.3),
        _kernel("fmha_cutlassF_f32", 0.06, kind="attention", cores=True),
    ]
    finding = lead(run(gpu_rank(report=_busy(*kernels), facts=_EXACT)))
    assert (finding.code, finding.severity) == ("compute.fp32", "warning")
    assert finding.share == pytest.approx(0.8)
    assert finding.remedy is not None
    assert finding.remedy.bound == pytest.approx(5.0)


@pytest.mark.parametrize(
    "kernel",
    [
        _kernel("nvjet_sm90_tst_128x256", 0.9, cores=True),
        _kernel("gemv2T_kernel_val<int, float>", 0.9),
        _kernel("cutlass_80_simt_dgemm_64x64", 0.9),
        _kernel("some_gemm_bf16_splitk", 0.9),
        _kernel("conv_depthwise2d_forward", 0.9, kind="conv"),
        _kernel("cutlass_80_simt_sgemm_128x256", 0.15),
    ],
)
def test_other_products_and_few_of_them_are_none_of_its_business(kernel: KernelFigures) -> None:
    assert "compute.fp32" not in found(run(gpu_rank(report=_busy(kernel), facts=_EXACT)))


@pytest.mark.parametrize(
    ("tensor", "multiprocessors", "memory", "said"),
    [(0.019, 0.95, 0.11, True), (0.03, 0.95, 0.11, False), (0.0, 0.54, 0.5, False), (0.0, 0.9, 0.5, False)],
)
def test_without_a_window_memory_must_not_be_the_limit(
    tensor: float, multiprocessors: float, memory: float, said: bool
) -> None:
    read = gpu(tensor_active_share=tensor, sm_active_share=multiprocessors, dram_active_share=memory)
    finding = found(run(gpu_rank(facts=_EXACT), gpus=(read,))).get("compute.fp32")
    assert (finding is not None) is said
    assert finding is None or finding.unsure is not None


def _allocator(peak_mib: float = 100_000.0) -> AllocatorFacts:
    return AllocatorFacts(
        device="cuda:0",
        allocated_mib=peak_mib,
        reserved_mib=141_000.0,
        inactive_split_mib=10.0,
        peak_allocated_mib=peak_mib,
        peak_reserved_mib=141_000.0,
        alloc_retries=0,
        ooms=0,
    )


def _memory(peak_mib: float = 100_000.0) -> RankFacts:
    return facts(allocator=_allocator(peak_mib))


@pytest.mark.parametrize(
    ("peak", "severity"), [(141_381.0, "warning"), (134_000.0, "info"), (130_000.0, None)]
)
def test_a_card_that_tensors_fill(peak: float, severity: str | None) -> None:
    made = gpu_rank(facts=_memory(peak))
    finding = found(run(made, gpus=(gpu(),))).get("memory.near_limit")
    assert (finding and finding.severity) == severity


def test_a_cache_that_fills_the_card_is_usual() -> None:
    assert "memory.near_limit" not in found(run(gpu_rank(facts=_memory()), gpus=(gpu(),)))


@pytest.mark.parametrize(("clock", "said"), [(1980.0, False), (1830.0, False), (1605.0, True), (None, False)])
def test_a_power_limit_is_worth_a_word_where_it_costs_clock(clock: float | None, said: bool) -> None:
    capped = gpu(throttled_share={"power_cap": 1.0}, sm_clock_mhz=clock, sm_clock_max_mhz=1980.0)
    finding = found(run(gpu_rank(), gpus=(capped,))).get("gpu.power_capped")
    assert (finding is not None) is said
    assert finding is None or finding.severity == "info"


def test_a_power_limit_is_told_after_that_all_is_well() -> None:
    capped = gpu(throttled_share={"power_cap": 1.0}, sm_clock_mhz=1605.0, sm_clock_max_mhz=1980.0)
    codes = [each.code for each in judge(run(gpu_rank(), gpus=(capped,))).findings]
    assert codes == ["compute.bound", "gpu.power_capped"]


@pytest.mark.parametrize(("used", "severity"), [(138_772.0, "critical"), (138_770.0, "warning")])
def test_a_leak_that_soon_fills_the_gpu(used: float, severity: str) -> None:
    """500 MiB a minute: 5000 are taken in ten minutes."""
    grown, read = change(allocated_mib=500.0, allocated_rise=1.0), gpu(memory_used_mib=used)
    finding = found(run(gpu_rank(change=grown), gpus=(read,)))["memory.growth"]
    assert finding.severity == severity
    assert ("full in about 10 min" in finding.sentence) is (severity == "critical")
    cached = msgspec.structs.replace(_allocator(), allocated_mib=1_000.0, reserved_mib=1_002.0)
    roomier = run(gpu_rank(change=grown, facts=facts(allocator=cached)), gpus=(read,))
    assert found(roomier)["memory.growth"].severity == "warning", "what is cached is free to tensors"


def test_what_ends_the_training_soon_stands_before_what_slows_it() -> None:
    made = gpu_rank(change=change(allocated_mib=500.0, allocated_rise=1.0), report=report(sync=0.6, host=0.1))
    soon = run(made, gpus=(gpu(memory_used_mib=142_000.0),))
    assert [each.code for each in judge(soon).findings][:2] == ["memory.growth", "sync.each_step"]
    late = run(made, gpus=(gpu(memory_used_mib=14_000.0),))
    assert lead(late).code == "sync.each_step"


def _fed(window: RankReport | None = None, device_ms: DeviceView | None = None) -> RankSignals:
    blind = msgspec.structs.replace(shares(), loader_wait=None)
    return gpu_rank(shares=blind, loader=None, patterns=_ALONE, report=window, device_ms=device_ms)


def test_a_busy_gpu_without_a_loader_is_well() -> None:
    finding = lead(run(_fed(_busy())))
    assert (finding.code, finding.unsure) == ("compute.bound", None)
    assert finding.share == pytest.approx(0.98)
    assert "98 %" in finding.sentence
    assert finding.evidence[0].name == "GPU computing"


def test_by_the_counters_alone_it_is_said_with_a_doubt() -> None:
    finding = lead(run(_fed(), gpus=(gpu(),)))
    assert finding.code == "compute.bound"
    assert finding.unsure is not None
    exchanging = DeviceView(
        sampled_steps=20, step_ms=10.0, wait_ms=0.0, h2d_ms=None, forward_ms=1.0, backward_ms=3.0,
        comm_exposed_ms=5.0, optimizer_ms=1.0, other_ms=0.0,
    )  # fmt: skip
    assert "compute.bound" not in found(run(_fed(device_ms=exchanging), gpus=(gpu(),)))


@pytest.mark.parametrize("gone", [{"mem_exposed": 0.5}, {"comm_exposed": 0.4}, {"idle": 0.3}])
def test_a_gpu_that_copies_exchanges_or_idles_is_not_called_well(gone: dict[str, float]) -> None:
    assert "compute.bound" not in found(run(_fed(_busy(**gone))))
    with_loader = gpu_rank(loader=loader(num_workers=4), report=_busy(**gone))
    assert "compute.bound" not in found(run(with_loader))


def test_a_gpu_that_is_fed_by_a_loader_and_idles_is_not_called_well() -> None:
    judged = judge(run(gpu_rank(loader=loader(num_workers=4), report=_busy(idle=0.4))))
    assert "compute.bound" not in {each.code for each in judged.findings}
    assert "idled 40 %" in abstained(judged)["compute.bound"]
