"""`compute.*`: the model itself on its device, where it is what sets the pace.

Most remedies here work on one model and harm another: they are experiments, and said to be.
"""

from collections.abc import Iterator

from perftui.ipc.figures import counted
from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.changed_results import OTHER_BATCH, OTHER_PRECISION
from perftui.trainer.diagnosis.evidence import area_share, number, offered, percent, share, step
from perftui.trainer.diagnosis.host_at_work import computing_share
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import RankSignals

_ON_GPU = (
    "let it compute on the GPU, on the weights there; where memory is short, a state of 8 bits or fewer "
    "states, or overlap its copies and its computing with the backward"
)
_MIXED_SETTLED = "a profile window names the operators that run there"


def device(case: Case) -> Iterator[Finding | Abstention]:
    """Judge models, or parts of them, that are on the CPU while a GPU is there."""
    for rank in case.ranks:
        model, host = rank.facts.model, case.host(rank)
        if model is None or not model.parameters:
            continue
        on_cpu = sum(count for name, count in model.devices.items() if name.startswith("cpu"))
        elsewhere = model.parameters - on_cpu
        gpus = host.gpus_present if host is not None else None
        part = on_cpu / model.parameters
        if not on_cpu or (not elsewhere and not gpus):
            continue
        hidden = (rank.facts.environment or {}).get("CUDA_VISIBLE_DEVICES")
        whole, computing = elsewhere == 0, computing_share(rank)
        if whole and hidden in ("", "-1"):
            continue  # somebody wants it so
        if (not whole and part < 0.05) or (whole and _computes_on_gpu(rank)) or _offloads(rank):
            continue
        yield Finding(
            code="compute.device",
            severity="critical" if whole and case.paced_by(rank, "model") else "warning",
            share=min(1.0, case.paces[rank.rank].parts.get("model", 0.0)) if whole else computing,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            host=rank.host,
            sentence=f"The model trains on the CPU although {rank.host} has {counted(gpus or 0, 'GPU')}."
            if whole
            else f"{percent(part)} of the parameters are on the CPU and the others on a GPU: "
            f"{_what_goes_to_and_fro(case, rank)}.",
            evidence=[
                number("parameters on the CPU", part, "share"),
                *([] if gpus is None else [number("GPUs of the host", gpus, "")]),
                *([number("GPU idle while the CPU computes", computing, "share")] if computing else []),
                step(rank),
            ],
            remedy=Remedy(
                advice='model.to("cuda") before the optimizer is built, and the batches with it; '
                "torch.cuda.is_available() says whether this build of torch can use the GPU",
                semantics="numeric",
            ),
            unsure=None if whole or computing >= case.policy.launch_idle else _MIXED_SETTLED,
        )
        return


def _what_goes_to_and_fro(case: Case, rank: RankSignals) -> str:
    if (rank.shares.optimizer or 0.0) >= case.policy.optimizer_warning and computing_share(rank):
        return "the optimizer computes there, and gradients and weights go to and fro"
    return "the batch goes to and fro between them"


def _computes_on_gpu(rank: RankSignals) -> bool:
    """Tell whether parameters on the CPU are only kept there, as by DeepSpeed's ZeRO-Offload."""
    allocator = rank.facts.allocator
    return rank.device.startswith("cuda") or (allocator is not None and allocator.peak_allocated_mib >= 1.0)


def _offloads(rank: RankSignals) -> bool:
    fsdp = None if rank.facts.parallel is None else rank.facts.parallel.fsdp
    return fsdp is not None and fsdp.cpu_offload is True


def optimizer(case: Case) -> Iterator[Finding | Abstention]:
    """Judge the optimizer's part of the step."""
    policy = case.policy
    for rank in case.ranks:
        cost = _optimizer_share(rank)
        if cost is None or cost < policy.optimizer_info or not case.paced_by(rank, "model", "device", "host"):
            continue
        if cost * rank.step_ms.mean < 1.0 or not _its_own(case, rank, cost):
            continue
        kinds = rank.facts.optimizers or []
        tensors = sum(each.tensors for each in kinds)
        on_cpu = computing_share(rank) >= 0.5 * cost
        plain = [each for each in kinds if not each.flags.get("fused") and not each.flags.get("foreach")]
        looped = any(each.flags.get("foreach") is False for each in plain) or rank.device == "cpu"
        yield Finding(
            code="compute.optimizer",
            severity="warning" if cost >= policy.optimizer_warning else "info",
            share=cost,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"The optimizer takes {percent(cost)} of the step"
            f"{_how(tensors, one_by_one=bool(plain) and looped, on_cpu=on_cpu)}.",
            evidence=[
                share(rank, "optimizer", cost),
                step(rank),
                *([number("tensors", tensors, "")] if kinds else []),
            ],
            coverage=rank.coverage,
            remedy=Remedy(
                bound=round(1 / (1 - min(cost, 0.99)), 2),
                set=offered(rank, {"optimizer.fused": True}) if plain and not on_cpu else {},
                advice=_ON_GPU
                if on_cpu
                else "an experiment: fused=True (or foreach=True) in the optimizer; or fewer steps of "
                "it, by "
                "accumulating gradients"
                if plain or not kinds
                else "a larger batch, or accumulated gradients: the optimizer's cost does not grow with them",
                semantics="numeric",
                caution=OTHER_PRECISION
                if on_cpu
                else f"fused was slower than foreach in some reports: measure; {OTHER_BATCH}"
                if plain or not kinds
                else OTHER_BATCH,
            ),
        )
        return


def _how(tensors: int, *, one_by_one: bool, on_cpu: bool) -> str:
    if on_cpu:
        return ", computes on the CPU, and the GPU idles meanwhile"
    return f": it goes through {tensors} tensors one by one" if one_by_one and tensors else ""


def _its_own(case: Case, rank: RankSignals, cost: float) -> bool:
    """Tell whether the optimizer's time is its own: one that is given a closure computes the model in it."""
    if rank.device_ms is None and not rank.shares.backward:
        return False
    looked = area_share(rank.facts.stacks, case.policy.stack_looks, "optimizer")
    return looked is None or looked >= 0.5 * cost


def _optimizer_share(rank: RankSignals) -> float | None:
    times = rank.device_ms
    if times is not None and times.step_ms > 0:
        return min(1.0, times.optimizer_ms / times.step_ms)
    return rank.shares.optimizer


def denormals(case: Case) -> Iterator[Finding | Abstention]:
    """Judge numbers so small that a CPU computes with them many times more slowly."""
    for rank in case.ranks:
        model = rank.facts.model
        if rank.device != "cpu" or model is None or model.subnormal is None:
            continue
        if model.subnormal < case.policy.subnormal:
            continue
        paces = case.paced_by(rank, "model")
        yield Finding(
            code="compute.denormals",
            severity="warning" if paces else "info",
            share=0.0,
            rank=rank.rank if len(case.signals.ranks) > 1 else None,
            sentence=f"{percent(model.subnormal)} of the weights or buffers looked at are denormal numbers "
            "(below 1e-38): "
            "processors compute with those up to a hundred times more slowly.",
            evidence=[number("denormal weights", model.subnormal, "share"), step(rank)],
            remedy=Remedy(
                advice="torch.set_flush_denormal(True) at the start of the script; and see why weights "
                "vanish "
                "(weight decay, a layer that is not trained)",
                semantics="numeric",
                caution="numbers below 1e-38 count as zero then: compare the loss",
            ),
            unsure="a comparison with set_flush_denormal(True): some libraries flush such numbers by "
            "themselves",
        )
        return
