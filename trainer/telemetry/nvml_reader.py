"""NVML, each call guarded alone: one that fails costs its own figure and nothing else.

Used only inside the sampler's process: NVML calls can hang for good, and no other process may hang with them.
GPUs are found by UUID, because NVML's indices are not CUDA's.
"""

import importlib
import time
from dataclasses import dataclass
from typing import Protocol, cast

from perftui.ipc.view import GpuView
from perftui.trainer.telemetry.gpu_lines import FIGURES
from perftui.trainer.telemetry.guarded_figures import GuardedFigures

_MIB = 1024 * 1024
_POWER_MAX_W = 10_000
_MEMORY_MAX_MIB = 16 * 1024 * 1024
_SLOW_PERIOD_S = 60.0
"""Name and limit change rarely; some drivers take milliseconds for them."""


class NvmlUnavailable(Exception):
    """The library or the driver is not there, or refuses; the message says which."""


class _Utilisation(Protocol):
    gpu: int


class _Memory(Protocol):
    total: int
    used: int


class _Nvml(Protocol):
    """The part of the `pynvml` module in use; it brings no types of its own."""

    NVMLError: type[Exception]
    nvmlMemory_v2: int
    NVML_TEMPERATURE_GPU: int
    NVML_CLOCK_SM: int

    def nvmlInit(self) -> None: ...
    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object: ...
    def nvmlDeviceGetName(self, handle: object) -> str: ...
    def nvmlDeviceGetUtilizationRates(self, handle: object) -> _Utilisation: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int) -> _Memory: ...
    def nvmlDeviceGetPowerUsage(self, handle: object) -> int: ...
    def nvmlDeviceGetEnforcedPowerLimit(self, handle: object) -> int: ...
    def nvmlDeviceGetTemperatureV(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: object, clock: int) -> int: ...


@dataclass(frozen=True)
class _Slow:
    """Figures asked for once a minute."""

    read_at: float
    name: str | None
    power_limit_w: float | None
    missing: dict[str, str]


class NvmlReader:
    """NVML of this host, initialised once and kept.

    Raises:
        NvmlUnavailable: no binding, no library, no driver, no permission.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        try:
            self._nvml = cast(_Nvml, importlib.import_module("pynvml"))
        except ImportError as error:
            raise NvmlUnavailable(f"the nvidia-ml-py package cannot be imported ({error})") from error
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            raise NvmlUnavailable(f"NVML: {error}") from error
        self._handles: dict[str, object] = {}
        self._slow: dict[str, _Slow] = {}

    def read(self, uuid: str) -> GpuView:
        """Return one GPU's figures; what failed is None, with the reason in `missing`."""
        sheet = GuardedFigures(self._nvml.NVMLError)
        handle = sheet.take("handle", lambda: self._handle(uuid))
        if handle is None:
            reason = sheet.missing["handle"]
            return GpuView(
                uuid=uuid, host=self._host, ranks=[], age_s=0.0, missing=dict.fromkeys(FIGURES, reason)
            )
        return self._figures(uuid, handle, sheet)

    def _handle(self, uuid: str) -> object:
        if uuid not in self._handles:
            known = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
            self._handles[uuid] = self._nvml.nvmlDeviceGetHandleByUUID(known)
        return self._handles[uuid]

    def _figures(self, uuid: str, handle: object, sheet: GuardedFigures) -> GpuView:
        nvml = self._nvml
        slow = self._slow_figures(uuid, handle)
        busy = sheet.take("utilisation_share", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        used, total = self._memory(handle, sheet)
        power = sheet.take("power_w", lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        heat = sheet.take("temperature_c", lambda: self._temperature(handle))
        clock = sheet.take("sm_clock_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        return GpuView(
            uuid=uuid,
            host=self._host,
            ranks=[],
            age_s=0.0,
            name=slow.name,
            utilisation_share=sheet.scaled("utilisation_share", busy, 0.01, 0, 1),
            memory_used_mib=used,
            memory_total_mib=total,
            power_w=sheet.scaled("power_w", power, 0.001, 0, _POWER_MAX_W),
            power_limit_w=slow.power_limit_w,
            temperature_c=sheet.scaled("temperature_c", heat, 1.0, -50, 150),
            sm_clock_mhz=sheet.scaled("sm_clock_mhz", clock, 1.0, 0, 10_000),
            missing={**slow.missing, **sheet.missing},
        )

    def _memory(self, handle: object, sheet: GuardedFigures) -> tuple[float | None, float | None]:
        """Return used and total in MiB; version 2 of the call keeps the driver's own share out of `used`."""
        nvml = self._nvml
        memory = sheet.take(
            "memory_total_mib", lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
        )
        if memory is None:
            sheet.missing["memory_used_mib"] = sheet.missing["memory_total_mib"]
            return None, None
        total = sheet.scaled("memory_total_mib", memory.total, 1 / _MIB, 1, _MEMORY_MAX_MIB)
        used = sheet.scaled("memory_used_mib", memory.used, 1 / _MIB, 0, total or _MEMORY_MAX_MIB)
        return used, total

    def _slow_figures(self, uuid: str, handle: object) -> _Slow:
        known = self._slow.get(uuid)
        now = time.monotonic()
        if known is None or now - known.read_at > _SLOW_PERIOD_S:
            sheet = GuardedFigures(self._nvml.NVMLError)
            name = sheet.take("name", lambda: self._nvml.nvmlDeviceGetName(handle))
            limit = sheet.take("power_limit_w", lambda: self._nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
            watts = sheet.scaled("power_limit_w", limit, 0.001, 0, _POWER_MAX_W)
            known = self._slow[uuid] = _Slow(now, name, watts, sheet.missing)
        return known

    def _temperature(self, handle: object) -> int:
        # The old call goes with CUDA 14; the new one is not in every driver.
        nvml = self._nvml
        sensor = nvml.NVML_TEMPERATURE_GPU
        if not hasattr(nvml, "nvmlDeviceGetTemperatureV"):
            return nvml.nvmlDeviceGetTemperature(handle, sensor)
        try:
            return nvml.nvmlDeviceGetTemperatureV(handle, sensor)
        except nvml.NVMLError:
            if not hasattr(nvml, "nvmlDeviceGetTemperature"):
                raise
            return nvml.nvmlDeviceGetTemperature(handle, sensor)
