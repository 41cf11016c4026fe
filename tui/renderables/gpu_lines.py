"""One GPU in two lines: what it does, and what state it is in; "—" and why, where that is not known.

`utilisation_share` is shown only as "kernel": that a kernel was present says nothing about work done.
"""

from perftui.ipc.view import GpuView
from perftui.tui import format as fmt
from perftui.tui.renderables.gauge import gauge
from perftui.tui.renderables.lines import BLANK, Line, Run, clause, join_fitting, line, width_of

_GAP = line("  ")
_THROTTLES = (
    ("thermal_hw", "throttled hot", "critical"),
    ("power_brake", "power brake", "critical"),
    ("thermal_sw", "hot", "warning"),
    ("sync_boost", "sync boost", "note"),
    ("power_cap", "power-capped", "note"),
)
"""Kind, word and role; to be power-capped is usual on a large GPU at full load."""
_SHOWN_LEAST = 0.005
_NAMES_SHOWN = 2


def gpu_lines(gpu: GpuView, width: int) -> list[Line]:
    """Draw the two lines; a GPU of which nothing is known gets one, with the reason."""
    if _is_unknown(gpu):
        reason = gpu.missing.get("utilisation_share", "not read")
        return [line(Run("GPU ", "dim"), f"{fmt.NOTHING} ", Run(clause(reason, width - 6), "warning")), BLANK]
    return [_activity(gpu, width), _state(gpu, width)]


def gpu_word(gpu: GpuView) -> Line:
    """Draw the one figure that stands for a GPU: how far its multiprocessors are at work."""
    if gpu.sm_active_share is None and gpu.utilisation_share is not None:
        return line(Run("kernel ", "dim"), fmt.percent(gpu.utilisation_share))
    return line(Run("SM ", "dim"), fmt.percent(gpu.sm_active_share))


def _is_unknown(gpu: GpuView) -> bool:
    known = (gpu.sm_active_share, gpu.utilisation_share, gpu.memory_used_mib, gpu.power_w)
    return all(figure is None for figure in known)


def _activity(gpu: GpuView, width: int) -> Line:
    cells = 10 if width > 84 else 5
    share = (
        gpu.memory_used_mib / gpu.memory_total_mib if gpu.memory_used_mib and gpu.memory_total_mib else None
    )
    memory = line(
        Run("mem ", "dim"),
        *gauge(share, cells, "optimizer"),
        f" {fmt.used_of(gpu.memory_used_mib, gpu.memory_total_mib)}",
    )
    if gpu.sm_active_share is None:
        return _without_gpm(gpu, memory, cells, width)
    parts = [
        line(Run("SM ", "dim"), *gauge(gpu.sm_active_share, cells), f" {fmt.percent(gpu.sm_active_share)}"),
        line(Run("tensor ", "dim"), fmt.percent(gpu.tensor_active_share)),
        memory,
        line(Run("DRAM ", "dim"), fmt.percent(gpu.dram_active_share)),
        _rate("PCIe in", gpu.pcie_rx_mib_s),
        _rate("NVLink", gpu.nvlink_rx_mib_s),
        line(Run("occupancy ", "dim"), fmt.percent(gpu.occupancy_share)),
    ]
    return join_fitting(parts, _GAP, width)


def _without_gpm(gpu: GpuView, memory: Line, cells: int, width: int) -> Line:
    kernel = line(
        Run("kernel ", "dim"), *gauge(gpu.utilisation_share, cells), f" {fmt.percent(gpu.utilisation_share)}"
    )
    known = join_fitting([kernel, memory], _GAP, width)
    room = width - width_of(known) - 7
    if room < 12:
        return known
    reason = clause(fmt.clean(gpu.missing.get("sm_active_share", "")), room)
    return (*known, *_GAP, Run("SM ", "dim"), Run(f"{fmt.NOTHING} "), Run(reason, "dim"))


def _rate(name: str, mib_s: float | None) -> Line:
    if mib_s is None:
        return BLANK
    return line(Run(f"{name} ", "dim"), f"{fmt.mebibytes(mib_s)}/s")


def _state(gpu: GpuView, width: int) -> Line:
    power = fmt.NOTHING if gpu.power_w is None else f"{gpu.power_w:.0f}"
    limit = f"/{gpu.power_limit_w:.0f}" if gpu.power_limit_w is not None else ""
    clock = fmt.NOTHING if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz:.0f}"
    fastest = f"/{gpu.sm_clock_max_mhz:.0f}" if gpu.sm_clock_max_mhz is not None else ""
    heat = fmt.NOTHING if gpu.temperature_c is None else f"{gpu.temperature_c:.0f}"
    energy = BLANK
    if gpu.energy_j_per_sample is not None:
        energy = line(fmt.number(gpu.energy_j_per_sample), Run(" J/sample", "dim"))
    elif gpu.energy_j_per_step is not None:
        energy = line(fmt.number(gpu.energy_j_per_step), Run(" J/step", "dim"))
    parts = [
        line(f"{power}{limit}", Run(" W", "dim")),
        *_throttles(gpu),
        *_troubles(gpu),
        line(f"{clock}{fastest}", Run(" MHz", "dim")),
        line(heat, Run(" °C", "dim")),
        energy,
        _link(gpu),
    ]
    return join_fitting(parts, _GAP, width)


def _throttles(gpu: GpuView) -> list[Line]:
    """Draw each kind of throttling that took any time worth a digit."""
    shares = gpu.throttled_share
    if shares is None:
        now = ", ".join(fmt.clean(reason.replace("_", " ")) for reason in gpu.event_reasons or ())
        return [line(Run("throttled ", "dim"), fmt.NOTHING, Run(f", now {now}" if now else "", "note"))]
    held = [
        line(Run(f"{word} ", role), Run(fmt.percent(shares[kind]), role))
        for kind, word, role in _THROTTLES
        if shares.get(kind, 0.0) >= _SHOWN_LEAST
    ]
    return held or [line(Run("throttled ", "dim"), fmt.percent(0.0))]


def _troubles(gpu: GpuView) -> list[Line]:
    troubles: list[str] = []
    if gpu.xids:
        troubles.append(f"XID {gpu.xids[-1]}")
    if gpu.ecc_uncorrected:
        troubles.append(f"{gpu.ecc_uncorrected} ECC errors")
    if gpu.remap_failed:
        troubles.append("row remapping failed")
    if gpu.foreign_processes:
        names = [fmt.clean(each.name or f"pid {each.pid}") for each in gpu.foreign_processes]
        more = f" +{len(names) - _NAMES_SHOWN}" if len(names) > _NAMES_SHOWN else ""
        troubles.append(f"also on it: {', '.join(names[:_NAMES_SHOWN])}{more}")
    return [line(Run(f"! {trouble}", "warning")) for trouble in troubles]


def _link(gpu: GpuView) -> Line:
    """Draw the link where it is narrower or slower than it could be."""
    slow = gpu.pcie_generation and gpu.pcie_generation_max and gpu.pcie_generation < gpu.pcie_generation_max
    narrow = gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max
    if not (slow or narrow):
        return BLANK
    told = f"! PCIe {gpu.pcie_generation or fmt.NOTHING}×{gpu.pcie_width or fmt.NOTHING}"
    most = f" of {gpu.pcie_generation_max or fmt.NOTHING}×{gpu.pcie_width_max or fmt.NOTHING}"
    return line(Run(told + most, "warning"))
