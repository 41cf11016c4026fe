"""Every figure of a GPU, and of the allocator on it, as entries of a grid. Pure."""

from perftui.ipc.facts import AllocatorFacts
from perftui.ipc.view import GpuView
from perftui.tui import format as fmt
from perftui.tui.renderables.figure_grid import Figure, memory_figure, share_figure, used_figure


def gpu_figures(gpu: GpuView) -> list[Figure]:
    """Return work first, then the GPU's state, its links, and its health."""
    return [
        share_figure("SM active", gpu.sm_active_share, "sm_active_share"),
        share_figure("tensor cores", gpu.tensor_active_share, "tensor_active_share"),
        share_figure("DRAM", gpu.dram_active_share, "dram_active_share"),
        share_figure("occupancy", gpu.occupancy_share, "occupancy_share"),
        share_figure("kernel running", gpu.utilisation_share, "utilisation_share"),
        share_figure("any engine", gpu.graphics_share, "graphics_share"),
        used_figure("memory", gpu.memory_used_mib, gpu.memory_total_mib, "memory_used_mib"),
        memory_figure("held by driver", gpu.memory_reserved_mib, "memory_reserved_mib"),
        Figure("power", _limited(gpu.power_w, gpu.power_limit_w, "W"), "power_w"),
        Figure("energy a step", _unit(gpu.energy_j_per_step, "J"), "energy_j_per_step"),
        Figure("energy a sample", _unit(gpu.energy_j_per_sample, "J"), "energy_j_per_sample"),
        Figure("temperature", _whole(gpu.temperature_c, "°C"), "temperature_c"),
        Figure("memory temp.", _whole(gpu.memory_temperature_c, "°C"), "memory_temperature_c"),
        Figure("SM clock", _limited(gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, "MHz"), "sm_clock_mhz"),
        Figure("memory clock", _whole(gpu.memory_clock_mhz, "MHz"), "memory_clock_mhz"),
        *_throttles(gpu),
        _rate("PCIe to host", gpu.pcie_tx_mib_s, "pcie_tx_mib_s"),
        _rate("PCIe from host", gpu.pcie_rx_mib_s, "pcie_rx_mib_s"),
        _rate("NVLink out", gpu.nvlink_tx_mib_s, "nvlink_tx_mib_s"),
        _rate("NVLink in", gpu.nvlink_rx_mib_s, "nvlink_rx_mib_s"),
        Figure("PCIe link", _link(gpu), "pcie_generation"),
        _count("ECC errors", gpu.ecc_uncorrected, "ecc_uncorrected"),
        _count("rows remapped", gpu.rows_remapped, "rows_remapped"),
        Figure("XID errors", _listed(gpu.xids), "xids", "critical" if gpu.xids else "text"),
        _others(gpu),
        Figure("read from", None if gpu.backend is None else fmt.clean(gpu.backend), "backend"),
        Figure("read every", None if gpu.period_s is None else f"{gpu.period_s:.2f} s", "period_s"),
    ]


def allocator_figures(facts: AllocatorFacts) -> list[Figure]:
    """Return what the caching allocator holds."""
    trouble = "warning" if facts.alloc_retries or facts.ooms else "text"
    return [
        Figure("allocated", fmt.mebibytes(facts.allocated_mib)),
        Figure("reserved", fmt.mebibytes(facts.reserved_mib)),
        Figure("peak allocated", fmt.mebibytes(facts.peak_allocated_mib)),
        Figure("peak reserved", fmt.mebibytes(facts.peak_reserved_mib)),
        memory_figure("fragmented", facts.inactive_split_mib, "inactive_split_mib"),
        Figure("retries, OOMs", f"{facts.alloc_retries:,}, {facts.ooms:,}", "", trouble),
    ]


def _unit(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{fmt.number(value)} {unit}"


def _whole(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


def _limited(value: float | None, limit: float | None, unit: str) -> str | None:
    most = "" if limit is None else f" of {limit:.0f}"
    return None if value is None else f"{value:.0f}{most} {unit}"


def _rate(name: str, mib_s: float | None, field: str) -> Figure:
    return Figure(name, None if mib_s is None else f"{fmt.mebibytes(mib_s)}/s", field)


def _count(name: str, count: int | None, field: str) -> Figure:
    return Figure(name, None if count is None else f"{count:,}", field, "warning" if count else "text")


def _listed(numbers: list[int] | None) -> str | None:
    return None if numbers is None else ", ".join(map(str, numbers[-4:])) or "none"


def _throttles(gpu: GpuView) -> list[Figure]:
    """Return one figure for each kind of throttling that was there, or one that says there was none."""
    if gpu.throttled_share is None:
        return [Figure("throttled", None, "throttled_share")]
    held = {kind: share for kind, share in gpu.throttled_share.items() if share >= 0.0005}
    if not held:
        return [Figure("throttled", fmt.percent(0.0))]
    return [
        Figure(fmt.clean(kind.replace("_", " ")), f"{fmt.percent(share)} of the time", "", "warning")
        for kind, share in held.items()
    ]


def _link(gpu: GpuView) -> str | None:
    if gpu.pcie_generation is None or gpu.pcie_width is None:
        return None
    most = f" of {gpu.pcie_generation_max}×{gpu.pcie_width_max}" if gpu.pcie_generation_max else ""
    return f"gen {gpu.pcie_generation}×{gpu.pcie_width}{most}"


def _others(gpu: GpuView) -> Figure:
    if gpu.foreign_processes is None:
        return Figure("others on it", None, "foreign_processes")
    names = [fmt.clean(each.name or f"pid {each.pid}") for each in gpu.foreign_processes]
    return Figure("others on it", ", ".join(names) or "none", "", "warning" if names else "text")
