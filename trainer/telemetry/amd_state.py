"""The slow and the rare reading of an AMD GPU by amdsmi."""

import time

from perftui.ipc.units import MIB
from perftui.trainer.telemetry.amd_library import AmdSmi, number_in
from perftui.trainer.telemetry.gpu_limits import (
    CLOCK_MAX_MHZ,
    COUNT_MAX,
    ENERGY_MAX_J,
    HEAT_C,
    LINK_WIDTH_MAX,
    MEMORY_MAX_MIB,
    POWER_MAX_W,
)
from perftui.trainer.telemetry.gpu_readings import DriverProcess, RareReading, SlowReading
from perftui.trainer.telemetry.guarded_figures import GuardedFigures

NEVER = "amdsmi has no such figure"
_SPEEDS = {25: 1, 50: 2, 80: 3, 160: 4, 320: 5, 640: 6}
"""Link speed in 0.1 GT/s → PCIe generation."""
_MICROWATTS = 100_000
"""A limit above this is in µW, as some versions of the library give it."""


def read_slow(smi: AmdSmi, handle: object, uuid: str, sheet: GuardedFigures) -> SlowReading:
    """Return the state of one GPU; what failed has its reason in `sheet`."""
    energy_j, energy_at_s = _energy(smi, handle, sheet)
    metrics = sheet.take("temperature_c", smi.amdsmi_get_gpu_metrics_info, handle)
    power = sheet.take("power_w", smi.amdsmi_get_power_info, handle)
    vram = sheet.take("memory_total_mib", smi.amdsmi_get_gpu_vram_usage, handle)
    watts = number_in(power, "socket_power", "current_socket_power", "average_socket_power")
    heat = number_in(metrics, "temperature_hotspot", "temperature_edge")
    memory_heat = number_in(metrics, "temperature_mem")
    clock = number_in(metrics, "current_gfxclks", "current_gfxclk")
    memory_clock = number_in(metrics, "current_uclk")
    total = sheet.scaled("memory_total_mib", number_in(vram, "vram_total"), 1, 1, MEMORY_MAX_MIB)
    used = sheet.scaled("memory_used_mib", number_in(vram, "vram_used"), 1, 0, total or MEMORY_MAX_MIB)
    sheet.lose(("memory_reserved_mib", "event_reasons", "xids"), NEVER)
    return SlowReading(
        uuid=uuid,
        at_s=time.monotonic(),
        energy_j=energy_j,
        energy_at_s=energy_at_s,
        memory_used_mib=used,
        memory_total_mib=total,
        power_w=sheet.scaled("power_w", watts, 1, 0, POWER_MAX_W),
        temperature_c=sheet.scaled("temperature_c", heat, 1, *HEAT_C),
        memory_temperature_c=sheet.scaled("memory_temperature_c", memory_heat, 1, *HEAT_C),
        sm_clock_mhz=sheet.scaled("sm_clock_mhz", clock, 1, 0, CLOCK_MAX_MHZ),
        memory_clock_mhz=sheet.scaled("memory_clock_mhz", memory_clock, 1, 0, CLOCK_MAX_MHZ),
        processes=_processes(smi, handle, sheet),
        missing=sheet.missing,
    )


def _energy(smi: AmdSmi, handle: object, sheet: GuardedFigures) -> tuple[float | None, float]:
    """Return the accumulator in J; it counts in steps of `counter_resolution` µJ."""
    names = ("energy_j_per_step", "energy_j_per_sample")
    began = time.monotonic()
    count = sheet.take(names[0], smi.amdsmi_get_energy_count, handle)
    at_s = (began + time.monotonic()) / 2
    ticks = number_in(count, "energy_accumulator", "power")
    size_uj = number_in(count, "counter_resolution")
    raw = None if ticks is None or size_uj is None else ticks * size_uj
    energy_j = sheet.scaled(names[0], raw, 1e-6, 0, ENERGY_MAX_J)
    if energy_j is None:
        sheet.missing[names[1]] = sheet.missing[names[0]]
    return energy_j, at_s


def _processes(smi: AmdSmi, handle: object, sheet: GuardedFigures) -> list[DriverProcess] | None:
    listed = sheet.take("foreign_processes", smi.amdsmi_get_gpu_process_list, handle)
    if listed is None:
        return None
    found: list[DriverProcess] = []
    for entry in listed:
        pid, held = number_in(entry, "pid"), number_in(entry, "mem", "memory_usage")
        if pid is not None:
            found.append(DriverProcess(pid=int(pid), memory_mib=None if held is None else held / MIB))
    return found


def read_rare(smi: AmdSmi, handle: object, uuid: str, sheet: GuardedFigures) -> RareReading:
    """Return what hardly changes on one GPU; what failed has its reason in `sheet`."""
    chip = sheet.take("name", smi.amdsmi_get_gpu_asic_info, handle) or {}
    power = sheet.take("power_limit_w", smi.amdsmi_get_power_info, handle)
    errors = sheet.take("ecc_uncorrected", smi.amdsmi_get_gpu_total_ecc_count, handle)
    metrics = sheet.take("pcie_width", smi.amdsmi_get_gpu_metrics_info, handle)
    name = chip.get("market_name")
    if not isinstance(name, str):
        sheet.missing.setdefault("name", "no value")
    limit = number_in(power, "power_limit")
    watts = limit / 1e6 if limit is not None and limit > _MICROWATTS else limit
    uncorrected = number_in(errors, "uncorrectable_count")
    generation = _SPEEDS.get(int(number_in(metrics, "pcie_link_speed") or 0))
    if generation is None:
        sheet.missing["pcie_generation"] = sheet.missing.get("pcie_width", "no value")
    never = ("sm_clock_max_mhz", "pcie_generation_max", "pcie_width_max", "rows_remapped")
    sheet.lose((*never, "remap_pending", "remap_failed", "mig_enabled"), NEVER)
    return RareReading(
        uuid=uuid,
        at_s=time.monotonic(),
        name=name if isinstance(name, str) else None,
        power_limit_w=sheet.scaled("power_limit_w", watts, 1, 1, POWER_MAX_W),
        pcie_generation=generation,
        pcie_width=sheet.whole("pcie_width", number_in(metrics, "pcie_link_width"), 1, LINK_WIDTH_MAX),
        ecc_uncorrected=sheet.whole("ecc_uncorrected", uncorrected, 0, COUNT_MAX),
        missing=sheet.missing,
    )
