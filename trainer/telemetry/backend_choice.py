"""Which library reads the GPUs of this host: chosen by what is there, inside the sampler's process."""

from pathlib import Path

from perftui.trainer.telemetry.amd_backend import AmdBackend
from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuBackend, GpuUnavailable, NoBackend
from perftui.trainer.telemetry.nvml_backend import NvmlBackend

_AMD_DEVICE = Path("/dev/kfd")


def choose_backend(current: CurrentCall, amd_device: Path = _AMD_DEVICE) -> GpuBackend:
    """Return the first library that answers: NVML, then amdsmi; `NoBackend` when none does.

    The reason tells of amdsmi only where there is an AMD GPU (`amd_device`): elsewhere it says nothing.
    """
    try:
        return NvmlBackend(current)
    except GpuUnavailable as nvml:
        reason = str(nvml)
    try:
        return AmdBackend(current)
    except GpuUnavailable as amd:
        return NoBackend(f"{amd}; {reason}" if amd_device.exists() else reason)
