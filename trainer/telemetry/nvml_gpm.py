"""GPM, the activity counters of Hopper and newer: what multiprocessors, tensor cores and links really did.

Two samples make one set of means over the time between them; both buffers are kept and swapped. GPM can be
there and be lost in the middle of a run (permission taken away, driver trouble): then it is said, and tried
again with growing pauses.
"""

import math
import time
from collections.abc import Mapping

from perftui.trainer.telemetry.gpu_limits import TRAFFIC_MAX_MIB_S
from perftui.trainer.telemetry.gpu_readings import Means
from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.nvml_devices import NvmlDevice
from perftui.trainer.telemetry.nvml_library import GpmMetric, Nvml, reason_of

METRICS: Mapping[str, tuple[int, float, float]] = {
    "graphics_share": (1, 0.01, 1.0),
    "sm_active_share": (2, 0.01, 1.0),
    "occupancy_share": (3, 0.01, 1.0),
    "tensor_active_share": (5, 0.01, 1.0),
    "dram_active_share": (10, 0.01, 1.0),
    "pcie_tx_mib_s": (20, 1.0, 1e6),
    "pcie_rx_mib_s": (21, 1.0, 1e6),
    "nvlink_rx_mib_s": (60, 1.0, TRAFFIC_MAX_MIB_S),
    "nvlink_tx_mib_s": (61, 1.0, TRAFFIC_MAX_MIB_S),
}
"""Figure → metric id (nvml.h, `nvmlGpmMetricId_t`), factor to the figure's unit, and the most that can be."""
LEAST_APART_S = 0.1
"""Samples closer than this give no values: the hardware refreshes them that often."""
_SLACK = 1.02
"""Shares come out a little above 1 at times, for rounding; more than this is a lie."""
_FIRST_PAUSE_S = 5.0
"""Before the first new try after a failure; doubles each time."""
_PAUSE_MAX_S = 300.0
_NEVER = "this GPU has no GPM: it needs Hopper or newer"


class Gpm:
    """GPM of one device; used by one thread.

    Args:
        nvml: the library.
        device: whose.
    """

    def __init__(self, nvml: Nvml, device: NvmlDevice) -> None:
        self._nvml = nvml
        self._device = device
        self._pause_s = _FIRST_PAUSE_S
        self._metrics = nvml.c_nvmlGpmMetricsGet_t()
        self._metrics.version = nvml.NVML_GPM_METRICS_GET_VERSION
        self._metrics.numMetrics = len(METRICS)
        for place, (metric, _, _) in enumerate(METRICS.values()):
            self._metrics.metrics[place].metricId = metric
        self._samples: list[object] = []
        self._taken_s: float | None = None
        self._supported = False
        self._worked = False
        self.lost: str | None = None
        """Why there is no GPM now; None while there is."""
        self._again_s = 0.0

    def read(self, sheet: GuardedFigures) -> Means | None:
        """Return the means since the last sample, or None: nothing yet, or nothing any more (see `lost`)."""
        now = time.monotonic()
        if self.lost is not None and now < self._again_s:
            sheet.lose(tuple(METRICS), self.lost)
            return None
        if self._taken_s is not None and now - self._taken_s < LEAST_APART_S:
            return None  # no news, and nothing amiss
        means = self._measure(sheet)
        if "gpm" in sheet.missing:
            self._lose(sheet.missing.pop("gpm"), now)
            sheet.lose(tuple(METRICS), self.lost or "")
            return None
        self.lost = None
        self._pause_s = _FIRST_PAUSE_S
        if means is None:
            sheet.lose(tuple(METRICS), "needs two readings")
        return means

    def _lose(self, reason: str, now: float) -> None:
        self.lost = f"GPM lost ({reason})" if self._worked else reason
        self._taken_s = None
        self._again_s = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _PAUSE_MAX_S)

    def _measure(self, sheet: GuardedFigures) -> Means | None:
        if not self._supported and not self._prepare(sheet):
            return None
        fresh, before = self._samples
        if not self._sample(fresh, sheet):
            return None
        from_s, to_s = self._taken_s, time.monotonic()
        self._samples, self._taken_s = [before, fresh], to_s
        if from_s is None:
            return None
        self._metrics.sample1, self._metrics.sample2 = before, fresh
        if sheet.take("gpm", self._nvml.nvmlGpmMetricsGet, self._metrics) is None:
            return None
        values = self._values(sheet)
        if not values:
            sheet.missing["gpm"] = next(sheet.missing[name] for name in METRICS)
            return None
        self._worked = True
        return Means(from_s=from_s, to_s=to_s, values=values)

    def _prepare(self, sheet: GuardedFigures) -> bool:
        nvml = self._nvml
        support = sheet.take("gpm", nvml.nvmlGpmQueryDeviceSupport, self._device.board)
        if support is None:
            return False
        if not support.isSupportedDevice:
            sheet.missing["gpm"] = _NEVER
            return False
        while len(self._samples) < 2:
            sample = sheet.take("gpm", nvml.nvmlGpmSampleAlloc)
            if sample is None:
                return False
            self._samples.append(sample)
        self._supported = True
        return True

    def _sample(self, into: object, sheet: GuardedFigures) -> bool:
        """Sample the device; an older library takes no MIG handle, but a GPU and an instance's number."""
        nvml, device = self._nvml, self._device
        if sheet.take("gpm", nvml.nvmlGpmSampleGet, device.handle, into) is not None:
            return True
        if device.instance is None:
            return False
        sheet.missing.pop("gpm")
        return sheet.take("gpm", nvml.nvmlGpmMigSampleGet, device.board, device.instance, into) is not None

    def _values(self, sheet: GuardedFigures) -> dict[str, float]:
        values: dict[str, float] = {}
        for place, (name, (_, factor, most)) in enumerate(METRICS.items()):
            value = self._checked(name, self._metrics.metrics[place], factor, most, sheet)
            if value is not None:
                values[name] = value
        return values

    def _checked(
        self, name: str, metric: GpmMetric, factor: float, most: float, sheet: GuardedFigures
    ) -> float | None:
        if metric.nvmlReturn:
            sheet.missing[name] = f"GPM: {reason_of(self._nvml, metric.nvmlReturn)}"
            return None
        if math.isnan(metric.value):
            sheet.missing[name] = "GPM gives no number"
            return None
        value = sheet.scaled(name, metric.value, factor, 0.0, most * _SLACK)
        return None if value is None else min(value, most)
