"""`gpu.*`: what keeps a GPU from its speed that is no part of the training: heat, power, guests, its link."""

from collections.abc import Iterator

from perftui.ipc.figures import counted
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.view import GpuView
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.evidence import number, percent
from perftui.trainer.diagnosis.readiness import Abstention

_HEAT = ("thermal_hw", "thermal_sw", "power_brake")
_KINDS = {"thermal_hw": "heat", "thermal_sw": "heat", "power_brake": "a power brake of the machine"}


def gpu_state(case: Case) -> Iterator[Finding | Abstention]:
    """Judge every GPU of the run."""
    for gpu in case.signals.gpus:
        yield from _throttled(case, gpu)
        yield from _power_capped(case, gpu)
        yield from _foreign(case, gpu)
        yield from _link(case, gpu)


def _rank(case: Case, gpu: GpuView) -> int | None:
    return gpu.ranks[0] if gpu.ranks and len(case.signals.ranks) > 1 else None


def _paces(case: Case, gpu: GpuView) -> bool:
    """Tell whether this GPU's speed can matter to any of its ranks."""
    return any(case.paced_by(rank, "device") for rank in case.ranks if rank.rank in gpu.ranks)


def _throttled(case: Case, gpu: GpuView) -> Iterator[Finding]:
    shares = {kind: (gpu.throttled_share or {}).get(kind, 0.0) for kind in _HEAT}
    kind = max(shares, key=lambda each: shares[each])
    held, policy = shares[kind], case.policy
    if held < policy.gpu_throttled or not _paces(case, gpu):
        return
    temperature = [] if gpu.temperature_c is None else [number("temperature", gpu.temperature_c, "°C")]
    clock = [] if gpu.sm_clock_mhz is None else [number("clock", gpu.sm_clock_mhz, "MHz")]
    yield Finding(
        code="gpu.throttled",
        severity="critical" if held >= policy.gpu_throttled_critical else "warning",
        share=0.0,
        rank=_rank(case, gpu),
        host=gpu.host,
        sentence=f"The GPU{_named(gpu)} was held down by {_KINDS[kind]} {percent(held)} of the time.",
        evidence=[number("clocks held down", held, "share", gpu.window_steps), *temperature, *clock],
        remedy=Remedy(advice="air flow, fans and dust; move the job to another GPU and compare"),
        unsure="a lower clock is not as much lower throughput: compare with another GPU",
    )


def _power_capped(case: Case, gpu: GpuView) -> Iterator[Finding]:
    """Judge a power limit that costs clock: merely to run at it is what full load looks like."""
    held, policy = (gpu.throttled_share or {}).get("power_cap", 0.0), case.policy
    clock, highest = gpu.sm_clock_mhz, gpu.sm_clock_max_mhz
    if held < policy.power_capped or not _paces(case, gpu) or clock is None or not highest:
        return
    lost = 1 - clock / highest
    if lost < policy.clock_lost:
        return
    watts = [
        number(name, value, "W")
        for name, value in (("power", gpu.power_w), ("limit", gpu.power_limit_w))
        if value is not None
    ]
    yield Finding(
        code="gpu.power_capped",
        severity="info",
        share=0.0,
        rank=_rank(case, gpu),
        host=gpu.host,
        sentence=f"The GPU{_named(gpu)} ran at its power limit {percent(held)} of the time, which takes "
        f"{percent(lost)} of its clock: usual for large GPUs at full load.",
        evidence=[
            number("clocks held down by the limit", held, "share", gpu.window_steps),
            number("clock", clock, "MHz"),
            number("highest clock", highest, "MHz"),
            *watts,
        ],
        remedy=Remedy(
            advice="nothing, unless the limit was lowered by hand: nvidia-smi -q -d POWER shows it"
        ),
    )


def _foreign(case: Case, gpu: GpuView) -> Iterator[Finding]:
    guests = gpu.foreign_processes or []
    held = sum(guest.memory_mib or 0.0 for guest in guests)
    if not guests or held < case.policy.foreign_mib:
        return
    holding = "holds" if len(guests) == 1 else "hold"
    most = max(guests, key=lambda guest: guest.memory_mib or 0.0)
    yield Finding(
        code="gpu.foreign_process",
        severity="warning" if _paces(case, gpu) else "info",
        share=0.0,
        rank=_rank(case, gpu),
        host=gpu.host,
        sentence=f"{counted(len(guests), 'process', 'processes')} of others {holding} {held:,.0f} MiB of the "
        f"GPU{_named(gpu)}, the largest is {most.name or 'unknown'} (pid {most.pid}): what is not of this "
        "run may compute there too.",
        evidence=[
            number("processes of others", len(guests), ""),
            number("their memory", held, "MiB"),
        ],
        remedy=Remedy(advice="end them if they are yours, or use another GPU (CUDA_VISIBLE_DEVICES)"),
        unsure="whether they compute at the same time; memory alone slows nothing",
    )


def _link(case: Case, gpu: GpuView) -> Iterator[Finding]:
    generation, best = gpu.pcie_generation, gpu.pcie_generation_max
    width, widest = gpu.pcie_width, gpu.pcie_width_max
    slower = generation is not None and best is not None and generation < best
    narrower = width is not None and widest is not None and width < widest
    busy = (gpu.graphics_share or gpu.utilisation_share or 0.0) >= 0.2
    if not (slower or narrower) or not busy or not gpu.window_steps:
        return  # at rest a link goes to a lower generation
    copies = [
        rank.device_ms.h2d_ms / rank.device_ms.step_ms
        for rank in case.ranks
        if rank.rank in gpu.ranks and rank.device_ms and rank.device_ms.h2d_ms and rank.device_ms.step_ms
    ]
    cost = max(copies, default=0.0)
    yield Finding(
        code="gpu.link",
        severity="warning" if cost >= case.policy.copy_share else "info",
        share=min(1.0, cost),
        rank=_rank(case, gpu),
        host=gpu.host,
        sentence=f"The GPU's link to the host{_named(gpu)} runs at generation {generation} ×{width} "
        "under load, "
        f"where {best} ×{widest} is possible.",
        evidence=[
            number("generation", generation or 0, ""),
            number("width", width or 0, "lanes"),
            number("copies to the device", cost, "share", gpu.window_steps),
        ],
        remedy=Remedy(
            advice="reseat the GPU or riser, look at the BIOS and at power saving of the link; "
            "NCCL and copies are slower by as much"
        ),
    )


def _named(gpu: GpuView) -> str:
    return f" of rank {gpu.ranks[0]}" if gpu.ranks else ""
