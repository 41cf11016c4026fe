"""The slow reading by NVML: memory, power, energy, clocks, temperature, reasons, processes, XIDs."""

import time

from perftui.ipc.frame_checks import PID_MAX
from perftui.ipc.units import MIB
from perftui.trainer.telemetry.event_reasons import reasons_of
from perftui.trainer.telemetry.gpu_limits import (
    CLOCK_MAX_MHZ,
    ENERGY_MAX_J,
    HEAT_C,
    MEMORY_MAX_MIB,
    POWER_MAX_W,
)
from perftui.trainer.telemetry.gpu_readings import DriverProcess, SlowReading
from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.nvml_devices import NvmlDevice
from perftui.trainer.telemetry.nvml_fields import FieldBatch
from perftui.trainer.telemetry.nvml_library import Memory, Nvml

_XIDS_MAX = 16
"""Events taken from the queue at one reading, and kept."""
_LISTEN_AGAIN_S = 60.0
"""Where a driver refuses events it does so for good, as a rule: a vGPU, WSL2, a filtered container."""


class NvmlState:
    """State of one GPU; used by one thread."""

    def __init__(self, nvml: Nvml, device: NvmlDevice) -> None:
        self._nvml = nvml
        self._device = device
        self._heat = FieldBatch(nvml, {"memory_temperature_c": 82})
        self._events: object | None = None
        """The set is made once and kept: each one takes room in the driver until it is freed."""
        self._listens = False
        self._refused = ""
        self._again_s = 0.0
        self._xids: list[int] = []

    def read(self, uuid: str, sheet: GuardedFigures) -> SlowReading:
        """Return the reading; what failed has its reason in `sheet`."""
        nvml, handle = self._nvml, self._device.handle
        energy, energy_at_s = self._energy(sheet)
        memory = sheet.take("memory_total_mib", nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
        total, used, reserved = _memory(memory, sheet)
        power = sheet.take("power_w", nvml.nvmlDeviceGetPowerUsage, handle)
        heat = self._temperature(sheet)
        memory_heat = self._heat.read(self._device.board, sheet).get("memory_temperature_c")
        sm = sheet.take("sm_clock_mhz", nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM)
        memory_clock = sheet.take(
            "memory_clock_mhz", nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM
        )
        return SlowReading(
            uuid=uuid,
            at_s=time.monotonic(),
            energy_j=energy,
            energy_at_s=energy_at_s,
            memory_used_mib=used,
            memory_total_mib=total,
            memory_reserved_mib=reserved,
            power_w=sheet.scaled("power_w", power, 0.001, 0, POWER_MAX_W),
            temperature_c=sheet.scaled("temperature_c", heat, 1.0, *HEAT_C),
            memory_temperature_c=sheet.scaled("memory_temperature_c", memory_heat, 1.0, *HEAT_C),
            sm_clock_mhz=sheet.scaled("sm_clock_mhz", sm, 1.0, 0, CLOCK_MAX_MHZ),
            memory_clock_mhz=sheet.scaled("memory_clock_mhz", memory_clock, 1.0, 0, CLOCK_MAX_MHZ),
            event_reasons=self._reasons(sheet),
            processes=self._processes(sheet),
            xids=self._read_xids(sheet),
            missing=sheet.missing,
        )

    def _energy(self, sheet: GuardedFigures) -> tuple[float | None, float]:
        """Return the counter in J and the moment it stands for: the middle of a call that takes its time."""
        began = time.monotonic()
        raw = sheet.take("energy", self._nvml.nvmlDeviceGetTotalEnergyConsumption, self._device.board)
        at_s = (began + time.monotonic()) / 2
        return sheet.scaled("energy", raw, 0.001, 0, ENERGY_MAX_J), at_s

    def _temperature(self, sheet: GuardedFigures) -> int | None:
        # the old call goes with CUDA 14; the new one is not in every driver or binding
        nvml, board, sensor = self._nvml, self._device.board, self._nvml.NVML_TEMPERATURE_GPU
        if hasattr(nvml, "nvmlDeviceGetTemperatureV"):
            heat = sheet.take("temperature_c", nvml.nvmlDeviceGetTemperatureV, board, sensor)
            if heat is not None or not hasattr(nvml, "nvmlDeviceGetTemperature"):
                return heat
            del sheet.missing["temperature_c"]
        return sheet.take("temperature_c", nvml.nvmlDeviceGetTemperature, board, sensor)

    def _reasons(self, sheet: GuardedFigures) -> list[str] | None:
        mask = sheet.take(
            "event_reasons", self._nvml.nvmlDeviceGetCurrentClocksEventReasons, self._device.board
        )
        reasons = None if mask is None else reasons_of(mask)
        if mask is not None and reasons is None:
            sheet.missing["event_reasons"] = f"the driver reports an impossible value ({mask:#x})"
        return reasons

    def _processes(self, sheet: GuardedFigures) -> list[DriverProcess] | None:
        listed = sheet.take(
            "foreign_processes", self._nvml.nvmlDeviceGetComputeRunningProcesses, self._device.handle
        )
        if listed is None:
            return None
        if any(process.pid > PID_MAX for process in listed):  # a binding whose struct is not the driver's
            sheet.missing["foreign_processes"] = "the driver lists impossible process ids"
            return None
        return [
            DriverProcess(pid=process.pid, memory_mib=_held_mib(process.usedGpuMemory)) for process in listed
        ]

    def _read_xids(self, sheet: GuardedFigures) -> list[int] | None:
        """Take what has come since the last reading from the queue; never waits."""
        nvml = self._nvml
        if not self._listens and not self._listen(sheet):
            return None
        for _ in range(_XIDS_MAX):
            try:
                event = sheet.attempt(nvml.nvmlEventSetWait_v2, self._events, 0)
            except nvml.NVMLError_Timeout:
                break
            except nvml.NVMLError as error:
                sheet.missing["xids"] = str(error)
                return None
            if event.eventType == nvml.nvmlEventTypeXidCriticalError:
                self._xids = [*self._xids, event.eventData][-_XIDS_MAX:]
        return self._xids

    def _listen(self, sheet: GuardedFigures) -> bool:
        nvml, now = self._nvml, time.monotonic()
        if self._refused and now < self._again_s:
            sheet.missing["xids"] = self._refused
            return False
        if self._events is None:
            self._events = sheet.take("xids", nvml.nvmlEventSetCreate)
        if self._events is not None:
            kind = nvml.nvmlEventTypeXidCriticalError
            sheet.take("xids", nvml.nvmlDeviceRegisterEvents, self._device.board, kind, self._events)
        self._refused, self._again_s = sheet.missing.get("xids", ""), now + _LISTEN_AGAIN_S
        self._listens = not self._refused
        return self._listens


def _memory(memory: Memory | None, sheet: GuardedFigures) -> tuple[float | None, float | None, float | None]:
    """Return total, used and reserved in MiB; version 2 of the call keeps the last out of `used`."""
    if memory is None:
        sheet.lose(("memory_used_mib", "memory_reserved_mib"), sheet.missing["memory_total_mib"])
        return None, None, None
    total = sheet.scaled("memory_total_mib", memory.total, 1 / MIB, 1, MEMORY_MAX_MIB)
    most = total or MEMORY_MAX_MIB
    used = sheet.scaled("memory_used_mib", memory.used, 1 / MIB, 0, most)
    return total, used, sheet.scaled("memory_reserved_mib", memory.reserved, 1 / MIB, 0, most)


def _held_mib(held_bytes: int | None) -> float | None:
    if held_bytes is None or held_bytes > MEMORY_MAX_MIB * MIB:
        return None
    return held_bytes / MIB
