"""From the UUID that a rank told to NVML's handle: never by index, because NVML's order is not CUDA's."""

from dataclasses import dataclass

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.nvml_library import Nvml

_GPU, _MIG = "GPU-", "MIG-"


@dataclass(frozen=True)
class NvmlDevice:
    """One GPU, or one MIG instance on a GPU."""

    handle: object
    board: object
    """The whole GPU: the handle itself, except for a MIG instance."""
    instance: int | None = None
    """Of MIG: the GPU instance's number."""


class NvmlDevices:
    """Handles, looked up once and kept."""

    def __init__(self, nvml: Nvml, current: CurrentCall) -> None:
        self._nvml = nvml
        self._current = current
        self._known: dict[str, NvmlDevice] = {}

    def find(self, uuid: str) -> NvmlDevice:
        """Return the device.

        Raises:
            NVMLError: the library does not know it, or fails.
        """
        device = self._known.get(uuid)
        if device is None:
            device = self._known[uuid] = self._look_up(uuid)
        return device

    def _look_up(self, uuid: str) -> NvmlDevice:
        # torch gives the bare digits of a MIG instance too, so that its kind is not known
        self._current.begin("nvmlDeviceGetHandleByUUID")
        digits = uuid.removeprefix(_GPU).removeprefix(_MIG)
        if not uuid.startswith(_MIG):
            try:
                handle = self._nvml.nvmlDeviceGetHandleByUUID(_GPU + digits)
            except self._nvml.NVMLError_NotFound as not_found:
                return self._instance(digits, not_found)
            return NvmlDevice(handle, handle)
        return self._instance(digits, None)

    def _instance(self, digits: str, not_found: Exception | None) -> NvmlDevice:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(_MIG + digits)
        except nvml.NVMLError as error:
            raise not_found or error from None
        board = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        return NvmlDevice(handle, board, nvml.nvmlDeviceGetGpuInstanceId(handle))
