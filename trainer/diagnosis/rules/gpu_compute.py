"""`compute.fp32`, `compute.layout`, `compute.small_batch`: how a GPU is used, where the GPU sets the pace."""

import re
from collections.abc import Iterator

from perftui.ipc.facts import BackendFacts
from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.trace_report import RankReport
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals
from perftui.trainer.diagnosis.trusted import trusted

_SETTLED = "a profile window names the kernels"
_OTHER_PRODUCTS = re.compile(r"gemv|bf16|bfloat|half|f16|f64|double|dgemm")
"""Products that TF32 does nothing for: of a vector, where memory is the limit, or in another precision."""


def fp32(case: Case) -> Iterator[Finding | Abstention]:
    """Judge matrix products that are computed in full float32, while tensor cores stand idle."""
    for rank in case.ranks:
        if not rank.device.startswith("cuda") or not case.paced_by(rank, "device"):
            continue
        backends, model = rank.facts.backends, rank.facts.model
        if backends is None or model is None:
            continue
        if not _exact(backends) or model.dtypes.get("float32", 0) < 0.5 * model.parameters:
            continue
        if case.paces[rank.rank].pacer != "device":
            continue
        found = _fp32(case, rank, backends)
        if found is not None:
            yield found
        if isinstance(found, Finding):
            return


def _fp32(case: Case, rank: RankSignals, backends: BackendFacts) -> Finding | Abstention | None:
    report = trusted(rank.report, "gpu")
    if report is None or not report.kernels:
        return _fp32_by_counters(case, rank)
    return _fp32_by_kernels(case, rank, report, convolutions=backends.cudnn_allow_tf32 is False)


def _fp32_by_kernels(
    case: Case, rank: RankSignals, report: RankReport, *, convolutions: bool
) -> Finding | None:
    """Judge by the kernels' names: those of products that use no tensor cores.

    Convolutions count where TF32 is off for them too: others use none for their form (one channel a group).
    """
    kinds = ("gemm", "conv") if convolutions else ("gemm",)
    products = [
        each
        for each in report.kernels
        if each.kind in kinds and not _OTHER_PRODUCTS.search(each.name.lower())
    ]
    exact = min(1.0, sum(each.share for each in products if each.tensor_cores is False))
    if exact < case.policy.exact_products:
        return None
    steps = len(report.steps)
    return _fp32_finding(
        case,
        rank,
        exact,
        sentence=f"{percent(exact)} of the GPU's time are matrix products in full float32, beside tensor "
        "cores that stand idle (TF32 is off, no mixed precision is used for them).",
        evidence=[number("products without tensor cores", exact, "share", steps), step(rank)],
        unsure=None,
    )


def _fp32_by_counters(case: Case, rank: RankSignals) -> Finding | Abstention | None:
    """Judge by the GPU's counters: multiprocessors busy, memory not the limit, tensor cores idle.

    Where memory is the limit, tensor cores idle under mixed precision as well, which cannot be read.
    """
    gpu, policy = case.gpu(rank), case.policy
    tensor = None if gpu is None or not gpu.window_steps else gpu.tensor_active_share
    if gpu is None or tensor is None or gpu.sm_active_share is None or gpu.dram_active_share is None:
        reason = f"whether rank {rank.rank} uses tensor cores was not measured"
        return Abstention("compute.fp32", reason, _SETTLED, rank.rank)
    computes = gpu.sm_active_share >= policy.gpu_idle and gpu.dram_active_share < policy.memory_bound
    if tensor >= policy.tensor_idle or not computes:
        return None
    return _fp32_finding(
        case,
        rank,
        0.0,
        sentence="The GPU sets the pace with its tensor cores idle: matrix products are computed in full "
        "float32 (TF32 is off, no mixed precision is seen).",
        evidence=[
            number("tensor cores busy", tensor, "share", gpu.window_steps),
            number("multiprocessors busy", gpu.sm_active_share, "share", gpu.window_steps),
            number("memory busy", gpu.dram_active_share, "share", gpu.window_steps),
            step(rank),
        ],
        unsure=_SETTLED,
    )


def _fp32_finding(
    case: Case, rank: RankSignals, cost: float, *, sentence: str, evidence: list[Evidence], unsure: str | None
) -> Finding:
    return Finding(
        code="compute.fp32",
        severity="warning",
        share=cost,
        rank=rank.rank if len(case.signals.ranks) > 1 else None,
        sentence=sentence,
        evidence=evidence,
        remedy=Remedy(
            set=offered(rank, {"precision.tf32": True}),
            bound=round(1 / (1 - min(cost, 0.95)), 2) if cost else None,
            advice='an experiment: torch.set_float32_matmul_precision("high"), or bfloat16 by '
            "torch.autocast (elsewhere, on an H200, 2.05 times faster with ResNet-50 at batch 128, nothing "
            "where memory is the limit)",
            semantics="numeric",
            caution="other rounding: compare the losses",
        ),
        unsure=unsure,
    )


def _exact(backends: BackendFacts) -> bool:
    """Tell whether float32 products are computed exactly, by the old switches or the new ones."""
    if backends.matmul_fp32_precision is not None:
        return backends.matmul_fp32_precision in ("ieee", "none")
    if backends.float32_matmul_precision is not None:
        return backends.float32_matmul_precision == "highest"
    return backends.matmul_allow_tf32 is False


def layout(case: Case) -> Iterator[Finding | Abstention]:
    """Judge kernels that turn the memory format of images round and back."""
    for rank in case.ranks:
        model, report = rank.facts.model, trusted(rank.report, "gpu")
        if model is None or not model.four_d or not rank.device.startswith("cuda"):
            continue
        if (model.channels_last or 0.0) > 0.5 or not case.paced_by(rank, "device"):
            continue
        if report is None or not report.kernels:
            yield Abstention(
                "compute.layout", "which kernels convert memory formats was not seen", _SETTLED, rank.rank
            )
            continue
        turning = sum(
            kernel.share
            for kernel in report.kernels
            if "nchwtonhwc" in kernel.name.lower() or "nhwctonchw" in kernel.name.lower()
        )
        if turning < case.policy.copy_share:
            continue
        yield Finding(
            code="compute.layout",
            severity="warning",
            share=min(1.0, turning),
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"{percent(turning)} of the GPU's time converts images between memory formats: "
            "tensor cores "
            "want channels last, the model is in the other format.",
            evidence=[
                number("kernels that convert formats", turning, "share", len(report.steps)),
                number("convolution weights in channels_last", model.channels_last or 0.0, "share"),
            ],
            remedy=Remedy(
                # no bound: other convolutions come with it (12 % turned, 25 % gained on an H200)
                expected=round(1 / (1 - min(turning, 0.99)), 2),
                set=offered(rank, {"layout.channels_last": True}),
                advice="an experiment: model.to(memory_format=torch.channels_last), and the images too",
                semantics="numeric",
                caution="slower for some models (grouped convolutions): measure",
            ),
        )
        return


def small_batch(case: Case) -> Iterator[Finding | Abstention]:
    """Judge batches too small to fill the GPU, with memory to spare."""
    policy = case.policy
    for rank in case.ranks:
        gpu, batch = case.gpu(rank), rank.loader.batch_size if rank.loader is not None else None
        samples = batch if batch is not None else rank.patterns.samples
        if gpu is None or samples is None or not rank.device.startswith("cuda"):
            continue
        if samples >= policy.small_batch_gpu or not case.paced_by(rank, "host", "device"):
            continue
        if gpu.memory_used_mib is None or not gpu.memory_total_mib or not gpu.window_steps:
            continue
        used = gpu.memory_used_mib / gpu.memory_total_mib
        busy = gpu.sm_active_share
        if used > 1 - policy.memory_free or busy is None or busy >= policy.gpu_idle:
            continue
        if (case.wait(rank) or 0.0) >= policy.wait_warning:
            continue
        yield Finding(
            code="compute.small_batch",
            severity="info",
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"A batch of {samples:g} keeps {percent(busy)} of the GPU's multiprocessors busy and "
            f"{percent(used)} of its memory in use: there is room for more.",
            evidence=[
                number("samples a batch", samples, ""),
                number("multiprocessors busy", busy, "share"),
                number("memory in use", used, "share"),
            ],
            remedy=Remedy(
                advice="a larger batch, by the script's own argument",
                semantics="changes-training",
                caution="another batch size is another training: the learning rate has to follow",
            ),
        )
        return
