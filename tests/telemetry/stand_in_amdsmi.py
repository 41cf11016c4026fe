"""A stand-in for AMD's module, put on the path under the name `amdsmi`. STAND_IN_AMDSMI says how it behaves:
good, bare (an old GPU that tells little), refuses, hang, or fail:NAME (that call alone fails).

Two GPUs. Counters rise with the monotonic clock: 200 W; power-capped for half of the time.
"""

import os
import time
from typing import Any

_IS = os.environ.get("STAND_IN_AMDSMI", "good")
_SERIALS = ("0x4a2b3c4d5e6f7081", "0x00112233445566ff")
if _IS == "no_library":
    raise KeyError("libamd_smi.so")


class AmdSmiException(Exception):
    """What every call may raise."""


def _call(name: str) -> None:
    if f"fail:{name}" == _IS:
        raise AmdSmiException("Error code:\n\t2 | AMDSMI_STATUS_NOT_SUPPORTED")
    if _IS == "hang" and name == "metrics":
        time.sleep(1000)


def amdsmi_init() -> None:
    if _IS == "refuses":
        raise AmdSmiException("driver not loaded")


def amdsmi_get_processor_handles() -> list[int]:
    return [0, 1]


def amdsmi_get_gpu_device_uuid(handle: int) -> str:
    return ("aaff74a1-0000-1000-80e1-4a2b3c4d5e6f", "bbff74a1-0000-1000-80e1-001122334455")[handle]


def amdsmi_get_gpu_asic_info(handle: int) -> dict[str, Any]:
    _call("asic")
    return {"market_name": f"Stand-in MI{handle}", "asic_serial": _SERIALS[handle]}


def amdsmi_get_gpu_driver_info(handle: int) -> dict[str, Any]:
    return {"driver_version": "6.10.5"}


def amdsmi_get_gpu_metrics_info(handle: int) -> dict[str, Any]:
    _call("metrics")
    rounds = int(time.monotonic() * 1000)
    told = {
        "average_gfx_activity": 83,
        "average_umc_activity": 25,
        "temperature_hotspot": 71,
        "temperature_mem": 55,
        "current_gfxclks": [2100, 2095, 0xFFFF],
        "current_uclk": 1300,
        "pcie_link_width": 16,
        "pcie_link_speed": 320,
        "accumulation_counter": rounds,
        "ppt_residency_acc": rounds // 2,
        "socket_thm_residency_acc": 5,
        "hbm_thm_residency_acc": 0,
        "vr_thm_residency_acc": "N/A",
        "prochot_residency_acc": 0,
    }
    return dict.fromkeys(told, "N/A") if _IS == "bare" else told


def amdsmi_get_gpu_vram_usage(handle: int) -> dict[str, Any]:
    _call("vram")
    return {"vram_total": 196_288, "vram_used": 40_960}


def amdsmi_get_power_info(handle: int) -> dict[str, Any]:
    _call("power")
    return {"current_socket_power": 655, "average_socket_power": "N/A", "power_limit": 750_000_000}


def amdsmi_get_energy_count(handle: int) -> dict[str, Any]:
    _call("energy")
    resolution = 15.3
    ticks = time.monotonic() * 200e6 / resolution
    return {"energy_accumulator": int(ticks), "counter_resolution": resolution, "timestamp": 1}


def amdsmi_get_gpu_process_list(handle: int) -> list[dict[str, Any]]:
    _call("processes")
    return [{"name": "python3", "pid": 4242, "mem": 3 * 2**30}, {"name": "N/A", "pid": "N/A", "mem": 0}]


def amdsmi_get_gpu_total_ecc_count(handle: int) -> dict[str, Any]:
    _call("ecc")
    return {"correctable_count": 7, "uncorrectable_count": 1}
