"""`compute.fp32`, `compute.layout`, `compute.small_batch`: how a GPU is used, where the GPU sets the pace."""

from collections.abc import Iterator

from perftui.ipc.facts import BackendFacts
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.view import GpuView
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, offered, percent, step
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

_SETTLED = "a profile window names the kernels"


def fp32(case: Case) -> Iterator[Finding | Abstention]:
    """Judge tensor cores that stand idle because the arithmetic is float32 to the last bit."""
    for rank in case.ranks:
        gpu = case.gpu(rank)
        if not rank.device.startswith("cuda") or not case.paced_by(rank, "device"):
            continue
        backends, model = rank.facts.backends, rank.facts.model
        if backends is None or model is None:
            continue
        idle = _tensor_cores_idle(rank, gpu, case.policy.tensor_idle)
        if idle is None:
            yield Abstention(
                "compute.fp32",
                f"whether rank {rank.rank} uses tensor cores was not measured",
                _SETTLED,
                rank.rank,
            )
            continue
        if not idle or not _exact(backends) or model.dtypes.get("float32", 0) < 0.5 * model.parameters:
            continue
        if case.paces[rank.rank].pacer != "device":
            continue
        tensor = 0.0 if gpu is None or gpu.tensor_active_share is None else gpu.tensor_active_share
        yield Finding(
            code="compute.fp32",
            severity="warning",
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence="The GPU sets the pace with its tensor cores idle: matrix products are computed in full "
            "float32 (TF32 is off, no mixed precision is seen).",
            evidence=[number("tensor cores busy", tensor, "share", 0), step(rank)],
            remedy=Remedy(
                set=offered(rank, {"precision.tf32": True}),
                advice='an experiment: torch.set_float32_matmul_precision("high"), or bfloat16 by '
                "torch.autocast; "
                "2.05 times faster on an H200 with ResNet-50 at batch 128, nothing where memory is the limit",
                semantics="numeric",
                caution="other rounding: compare the losses",
            ),
        )
        return


def _tensor_cores_idle(rank: RankSignals, gpu: GpuView | None, threshold: float) -> bool | None:
    if rank.report is not None and rank.report.tensor_core_share is not None:
        return rank.report.tensor_core_share < threshold
    if gpu is None or gpu.tensor_active_share is None or not gpu.window_steps:
        return None
    return gpu.tensor_active_share < threshold


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
        model, report = rank.facts.model, rank.report
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
                bound=round(1 / (1 - min(turning, 0.99)), 2),
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
