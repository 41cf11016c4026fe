"""NVIDIA GPUs by NVML, each call guarded alone: one that fails costs its own figure and nothing else."""

import time
from dataclasses import dataclass

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_readings import (
    FAST_FIGURES,
    RARE_FIGURES,
    SLOW_FIGURES,
    THROTTLE_KINDS,
    Counters,
    FastReading,
    RareReading,
    SlowReading,
)
from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.nvml_devices import NvmlDevice, NvmlDevices
from perftui.trainer.telemetry.nvml_fields import ALL_LINKS, FieldBatch
from perftui.trainer.telemetry.nvml_gpm import Gpm
from perftui.trainer.telemetry.nvml_health import NvmlHealth
from perftui.trainer.telemetry.nvml_library import Nvml, start_nvml
from perftui.trainer.telemetry.nvml_state import NvmlState

_THROTTLED_FIELDS = {
    "power_cap": 74,
    "sync_boost": 76,
    "thermal_sw": 269,
    "thermal_hw": 270,
    "power_brake": 271,
}
"""Nanoseconds since the driver was loaded; nvml.h, `NVML_FI_DEV_CLOCKS_EVENT_REASON_…`."""
_MOVED_FIELDS: dict[str, tuple[int | tuple[int, int], int]] = {
    "pcie_tx_mib_s": (197, 1),
    "pcie_rx_mib_s": (198, 1),
    "nvlink_tx_mib_s": ((138, ALL_LINKS), 1024),
    "nvlink_rx_mib_s": ((139, ALL_LINKS), 1024),
}
"""Rate → field of bytes moved so far, and its unit in bytes: asked for where GPM gives no rate."""
_LOAD_SHARE = 0.3
"""Kernels ran for so much of the last sample period: the link is awake."""


@dataclass
class _Parts:
    device: NvmlDevice
    gpm: Gpm
    state: NvmlState
    health: NvmlHealth
    throttled: FieldBatch
    throttled_and_moved: FieldBatch
    load_share: float | None = None
    """As last read: a link's generation says something only under load."""


class NvmlBackend:
    """NVML of this host, initialised once and kept; used by one thread.

    Args:
        current: where the call that is going on is written down.
        nvml: the library, already started; None: it is loaded.

    Raises:
        GpuUnavailable: no binding, no library, no driver, no permission.
    """

    def __init__(self, current: CurrentCall, nvml: Nvml | None = None) -> None:
        self._nvml: Nvml = start_nvml(current) if nvml is None else nvml
        self._current = current
        self._devices = NvmlDevices(self._nvml, current)
        self._known: dict[str, _Parts] = {}
        driver = self._sheet().take("driver", self._nvml.nvmlSystemGetDriverVersion)
        self.name = "NVML" if driver is None else f"NVML {driver}"

    def read_fast(self, uuid: str) -> FastReading:
        """Return the activity of one GPU: GPM, one batch of counters, and whether a kernel ran."""
        sheet = self._sheet()
        parts = self._parts(uuid, sheet)
        if parts is None:
            return FastReading(uuid=uuid, at_s=time.monotonic(), missing=_lost(sheet, FAST_FIGURES))
        means = parts.gpm.read(sheet)
        counters = self._counters(parts, sheet)
        busy = sheet.take("utilisation_share", self._nvml.nvmlDeviceGetUtilizationRates, parts.device.handle)
        share = sheet.scaled("utilisation_share", busy.gpu if busy else None, 0.01, 0, 1)
        active = means.values.get("graphics_share") if means else None
        parts.load_share = active if share is None else share
        return FastReading(
            uuid=uuid,
            at_s=time.monotonic(),
            utilisation_share=share,
            means=means,
            counters=counters,
            missing=sheet.missing,
        )

    def read_slow(self, uuid: str) -> SlowReading:
        """Return the state of one GPU."""
        sheet = self._sheet()
        parts = self._parts(uuid, sheet)
        if parts is None:
            return SlowReading(uuid=uuid, at_s=time.monotonic(), missing=_lost(sheet, SLOW_FIGURES))
        reading = parts.state.read(uuid, sheet)
        if "energy" in sheet.missing:
            sheet.lose(("energy_j_per_step", "energy_j_per_sample"), sheet.missing.pop("energy"))
        return reading

    def read_rare(self, uuid: str) -> RareReading:
        """Return what hardly changes on one GPU."""
        sheet = self._sheet()
        parts = self._parts(uuid, sheet)
        if parts is None:
            return RareReading(uuid=uuid, at_s=time.monotonic(), missing=_lost(sheet, RARE_FIGURES))
        return parts.health.read(uuid, sheet, under_load=(parts.load_share or 0.0) >= _LOAD_SHARE)

    def _sheet(self) -> GuardedFigures:
        return GuardedFigures(self._nvml.NVMLError, self._current)

    def _parts(self, uuid: str, sheet: GuardedFigures) -> _Parts | None:
        if uuid not in self._known:
            device = sheet.take("handle", self._devices.find, uuid)
            if device is None:
                return None
            nvml = self._nvml
            moved = {name: field for name, (field, _) in _MOVED_FIELDS.items()}
            self._known[uuid] = _Parts(
                device=device,
                gpm=Gpm(nvml, device),
                state=NvmlState(nvml, device),
                health=NvmlHealth(nvml, device),
                throttled=FieldBatch(nvml, _THROTTLED_FIELDS),
                throttled_and_moved=FieldBatch(nvml, {**_THROTTLED_FIELDS, **moved}),
            )
        return self._known[uuid]

    def _counters(self, parts: _Parts, sheet: GuardedFigures) -> Counters | None:
        """Read the counters in one call; the bytes moved only while GPM gives no rates."""
        mine = self._sheet()
        batch = parts.throttled if parts.gpm.lost is None else parts.throttled_and_moved
        began = time.monotonic()
        found = batch.read(parts.device.board, mine)
        at_s = (began + time.monotonic()) / 2
        throttled = {kind: found[kind] for kind in THROTTLE_KINDS if kind in found}
        moved = {name: found[name] * unit for name, (_, unit) in _MOVED_FIELDS.items() if name in found}
        for name in moved:
            sheet.missing.pop(name, None)
        for kind in THROTTLE_KINDS:
            if kind in mine.missing:
                sheet.missing[f"throttled_share.{kind}"] = mine.missing[kind]
        if not throttled:
            sheet.missing["throttled_share"] = mine.missing[THROTTLE_KINDS[0]]
        return Counters(at_s=at_s, throttled_ns=throttled, moved_bytes=moved) if found else None


def _lost(sheet: GuardedFigures, names: tuple[str, ...]) -> dict[str, str]:
    return dict.fromkeys(names, sheet.missing["handle"])
