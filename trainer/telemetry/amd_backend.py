"""AMD GPUs by amdsmi, each call guarded alone. One metrics structure holds most of what there is.

AMD has no counterpart of GPM: how far compute units and matrix cores were busy is not told. Never asked: the
PCIe bandwidth of the kernel's file system, which sleeps for a second.
"""

import time
from collections.abc import Mapping

from perftui.trainer.telemetry.amd_identity import names_of, place_of
from perftui.trainer.telemetry.amd_library import AmdSmi, number_in, start_amdsmi
from perftui.trainer.telemetry.amd_residency import KINDS, NO_COUNTERS, Residency
from perftui.trainer.telemetry.amd_state import NEVER, read_rare, read_slow
from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_readings import (
    FAST_FIGURES,
    RARE_FIGURES,
    SLOW_FIGURES,
    THROTTLE_KINDS,
    WORK_FIGURES,
    Counters,
    FastReading,
    Means,
    RareReading,
    SlowReading,
)
from perftui.trainer.telemetry.guarded_figures import GuardedFigures

_UNKNOWN = "amdsmi knows no GPU with this UUID"


class AmdBackend:
    """amdsmi of this host, started once and kept; used by one thread.

    Raises:
        GpuUnavailable: not installed, cannot be loaded, refuses.
    """

    def __init__(self, current: CurrentCall) -> None:
        self._smi: AmdSmi = start_amdsmi(current)
        self._current = current
        listed = self._sheet().take("handles", self._smi.amdsmi_get_processor_handles)
        self._handles = list(listed or ())
        self._names = [self._names_of(handle) for handle in self._handles]
        self._residencies: dict[str, Residency] = {}
        self._averaged_to_s: dict[str, float] = {}
        self.name = self._name()

    def read_fast(self, uuid: str) -> FastReading:
        """Return the activity of one GPU, from one read of its metrics."""
        sheet, handle = self._sheet(), self._handle(uuid)
        if handle is None:
            return FastReading(uuid=uuid, at_s=time.monotonic(), missing=_unknown(FAST_FIGURES))
        metrics = sheet.take("metrics", self._smi.amdsmi_get_gpu_metrics_info, handle)
        now = time.monotonic()
        if metrics is None:
            missing = dict.fromkeys(FAST_FIGURES, sheet.missing["metrics"])
            return FastReading(uuid=uuid, at_s=now, missing=missing)
        busy = number_in(metrics, "average_gfx_activity")
        return FastReading(
            uuid=uuid,
            at_s=now,
            utilisation_share=sheet.scaled("utilisation_share", busy, 0.01, 0, 1),
            means=self._means(uuid, metrics, now, sheet),
            counters=self._counters(uuid, metrics, now, sheet),
            missing=sheet.missing,
        )

    def read_slow(self, uuid: str) -> SlowReading:
        """Return the state of one GPU."""
        handle = self._handle(uuid)
        if handle is None:
            return SlowReading(uuid=uuid, at_s=time.monotonic(), missing=_unknown(SLOW_FIGURES))
        return read_slow(self._smi, handle, uuid, self._sheet())

    def read_rare(self, uuid: str) -> RareReading:
        """Return what hardly changes on one GPU."""
        handle = self._handle(uuid)
        if handle is None:
            return RareReading(uuid=uuid, at_s=time.monotonic(), missing=_unknown(RARE_FIGURES))
        return read_rare(self._smi, handle, uuid, self._sheet())

    def _sheet(self) -> GuardedFigures:
        return GuardedFigures(self._smi.AmdSmiException, self._current)

    def _name(self) -> str:
        if not self._handles:
            return "amdsmi"
        driver = self._sheet().take("driver", self._smi.amdsmi_get_gpu_driver_info, self._handles[0]) or {}
        version = driver.get("driver_version")
        return f"amdsmi {version}" if isinstance(version, str) else "amdsmi"

    def _names_of(self, handle: object) -> frozenset[str]:
        sheet = self._sheet()
        device = sheet.take("uuid", self._smi.amdsmi_get_gpu_device_uuid, handle)
        chip = sheet.take("serial", self._smi.amdsmi_get_gpu_asic_info, handle) or {}
        serial = chip.get("asic_serial")
        return names_of(device, serial if isinstance(serial, str) else None)

    def _handle(self, uuid: str) -> object | None:
        place = place_of(uuid, self._names)
        return None if place is None else self._handles[place]

    def _means(
        self, uuid: str, metrics: Mapping[str, object], now: float, sheet: GuardedFigures
    ) -> Means | None:
        """Return the memory controller's activity, which the firmware has averaged; the rest is not told."""
        sheet.lose(tuple(name for name in WORK_FIGURES if name != "dram_active_share"), NEVER)
        busy = number_in(metrics, "average_umc_activity")
        share = sheet.scaled("dram_active_share", busy, 0.01, 0, 1)
        from_s = self._averaged_to_s.get(uuid)
        self._averaged_to_s[uuid] = now
        if share is None:
            return None
        if from_s is None:
            sheet.missing["dram_active_share"] = "needs two readings"
            return None
        return Means(from_s=from_s, to_s=now, values={"dram_active_share": share})

    def _counters(
        self, uuid: str, metrics: Mapping[str, object], now: float, sheet: GuardedFigures
    ) -> Counters | None:
        throttled = self._residencies.setdefault(uuid, Residency()).take(metrics, now)
        for kind in THROTTLE_KINDS:
            if kind not in throttled:
                sheet.missing[f"throttled_share.{kind}"] = NO_COUNTERS if kind in KINDS else NEVER
        if not throttled:
            sheet.missing["throttled_share"] = NO_COUNTERS
            return None
        return Counters(at_s=now, throttled_ns=throttled)


def _unknown(names: tuple[str, ...]) -> dict[str, str]:
    return dict.fromkeys(names, _UNKNOWN)
