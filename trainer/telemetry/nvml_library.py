"""The part of the `pynvml` module in use, with types, and its start.

The module comes from the distribution nvidia-ml-py; it brings no types of its own.
"""

# ruff: noqa: D102 - the functions are the library's, and so are their descriptions

import importlib
from collections.abc import Sequence
from typing import Protocol, cast

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuUnavailable


class Utilisation(Protocol):
    """`nvmlUtilization_t`."""

    gpu: int


class Memory(Protocol):
    """`nvmlMemory_v2_t`, in bytes."""

    total: int
    used: int
    reserved: int


class Process(Protocol):
    """`nvmlProcessInfo_t`."""

    pid: int
    usedGpuMemory: int | None


class Value(Protocol):
    """`nvmlValue_t`, a union."""

    dVal: float
    uiVal: int
    ulVal: int
    ullVal: int
    sllVal: int
    siVal: int
    usVal: int


class FieldValue(Protocol):
    """`nvmlFieldValue_t`."""

    fieldId: int
    scopeId: int
    latencyUsec: int
    valueType: int
    nvmlReturn: int
    value: Value


class GpmSupport(Protocol):
    """`nvmlGpmSupport_t`."""

    isSupportedDevice: int


class GpmMetric(Protocol):
    """`nvmlGpmMetric_t`."""

    metricId: int
    nvmlReturn: int
    value: float


class GpmMetrics(Protocol):
    """`nvmlGpmMetricsGet_t`: both the question and its answer."""

    version: int
    numMetrics: int
    sample1: object
    sample2: object
    metrics: Sequence[GpmMetric]


class EventData(Protocol):
    """`nvmlEventData_t`."""

    eventType: int
    eventData: int


class Nvml(Protocol):
    """The functions and constants in use."""

    NVMLError: type[Exception]
    NVMLError_NotSupported: type[Exception]
    NVMLError_NotFound: type[Exception]
    NVMLError_Timeout: type[Exception]
    nvmlMemory_v2: int
    NVML_TEMPERATURE_GPU: int
    NVML_CLOCK_SM: int
    NVML_CLOCK_MEM: int
    NVML_GPM_METRICS_GET_VERSION: int
    nvmlEventTypeXidCriticalError: int

    def nvmlInit(self) -> None: ...
    def nvmlErrorString(self, code: int) -> str | bytes: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object: ...
    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: object) -> object: ...
    def nvmlDeviceGetGpuInstanceId(self, handle: object) -> int: ...
    def nvmlDeviceGetName(self, handle: object) -> str: ...
    def nvmlDeviceGetUtilizationRates(self, handle: object) -> Utilisation: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int) -> Memory: ...
    def nvmlDeviceGetPowerUsage(self, handle: object) -> int: ...
    def nvmlDeviceGetEnforcedPowerLimit(self, handle: object) -> int: ...
    def nvmlDeviceGetTotalEnergyConsumption(self, handle: object) -> int: ...
    def nvmlDeviceGetTemperatureV(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: object, clock: int) -> int: ...
    def nvmlDeviceGetMaxClockInfo(self, handle: object, clock: int) -> int: ...
    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: object) -> Sequence[Process]: ...
    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: object) -> int: ...
    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: object) -> int: ...
    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: object) -> int: ...
    def nvmlDeviceGetMaxPcieLinkWidth(self, handle: object) -> int: ...
    def nvmlDeviceGetMigMode(self, handle: object) -> Sequence[int]: ...
    def nvmlDeviceGetFieldValues(
        self, handle: object, fields: Sequence[int | tuple[int, int]]
    ) -> Sequence[FieldValue]: ...
    def nvmlEventSetCreate(self) -> object: ...
    def nvmlDeviceRegisterEvents(self, handle: object, types: int, events: object) -> None: ...
    def nvmlEventSetWait_v2(self, events: object, timeout_ms: int) -> EventData: ...
    def nvmlGpmQueryDeviceSupport(self, handle: object) -> GpmSupport: ...
    def nvmlGpmSampleAlloc(self) -> object: ...
    def nvmlGpmSampleGet(self, handle: object, sample: object) -> object: ...
    def nvmlGpmMigSampleGet(self, handle: object, instance: int, sample: object) -> object: ...
    def nvmlGpmMetricsGet(self, metrics: GpmMetrics) -> GpmMetrics: ...
    def c_nvmlGpmMetricsGet_t(self) -> GpmMetrics: ...


def start_nvml(current: CurrentCall) -> Nvml:
    """Load the library and start it, once: a new start can fail for good in a container.

    Raises:
        GpuUnavailable: no binding, no library, no driver, no permission.
    """
    try:
        nvml = cast(Nvml, importlib.import_module("pynvml"))
    except ImportError as error:
        raise GpuUnavailable(f"the nvidia-ml-py package cannot be imported ({error})") from error
    current.begin("nvmlInit")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise GpuUnavailable(f"NVML: {error}") from error
    finally:
        current.end()
    return nvml


def reason_of(nvml: Nvml, code: int) -> str:
    """Return what a return code of one field or metric means."""
    try:
        text = nvml.nvmlErrorString(code)
    except nvml.NVMLError:
        return f"NVML error {code}"
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
