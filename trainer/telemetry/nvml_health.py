"""The rare reading by NVML: limits, link, ECC, row remapping, MIG, name."""

import time

from perftui.trainer.telemetry.gpu_limits import CLOCK_MAX_MHZ, COUNT_MAX, LINK_WIDTH_MAX, POWER_MAX_W
from perftui.trainer.telemetry.gpu_readings import RareReading
from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.link_seen import LinkSeen
from perftui.trainer.telemetry.nvml_devices import NvmlDevice
from perftui.trainer.telemetry.nvml_fields import FieldBatch
from perftui.trainer.telemetry.nvml_library import Nvml

_GENERATION_MAX = 16


class NvmlHealth:
    """What hardly changes on one GPU; used by one thread."""

    def __init__(self, nvml: Nvml, device: NvmlDevice) -> None:
        self._nvml = nvml
        self._device = device
        self._fields = FieldBatch(
            nvml, {"ecc_uncorrected": 4, "rows_remapped": 143, "remap_pending": 144, "remap_failed": 145}
        )
        self._link = LinkSeen()
        self._fastest_mhz: float | None = None

    def read(self, uuid: str, sheet: GuardedFigures, *, under_load: bool) -> RareReading:
        """Return the reading; what failed has its reason in `sheet`.

        Args:
            uuid: of the GPU.
            sheet: takes the reasons.
            under_load: whether kernels ran lately: at rest a link runs at a lower generation.
        """
        nvml, board = self._nvml, self._device.board
        name = sheet.take("name", nvml.nvmlDeviceGetName, self._device.handle)
        limit = sheet.take("power_limit_w", nvml.nvmlDeviceGetEnforcedPowerLimit, board)
        counts = self._fields.read(board, sheet)
        generation, generation_max, width, width_max = self._read_link(sheet, under_load=under_load)
        return RareReading(
            uuid=uuid,
            at_s=time.monotonic(),
            name=name,
            power_limit_w=sheet.scaled("power_limit_w", limit, 0.001, 0, POWER_MAX_W),
            sm_clock_max_mhz=self._fastest_clock(sheet),
            pcie_generation=generation,
            pcie_generation_max=generation_max,
            pcie_width=width,
            pcie_width_max=width_max,
            ecc_uncorrected=_count(sheet, "ecc_uncorrected", counts),
            rows_remapped=_count(sheet, "rows_remapped", counts),
            remap_pending=_flag(sheet, "remap_pending", counts),
            remap_failed=_flag(sheet, "remap_failed", counts),
            mig_enabled=self._mig(sheet),
            missing=sheet.missing,
        )

    def _fastest_clock(self, sheet: GuardedFigures) -> float | None:
        """Return the SM clock that the GPU could reach; asked once, since it takes milliseconds."""
        if self._fastest_mhz is None:
            nvml = self._nvml
            raw = sheet.take(
                "sm_clock_max_mhz", nvml.nvmlDeviceGetMaxClockInfo, self._device.board, nvml.NVML_CLOCK_SM
            )
            self._fastest_mhz = sheet.scaled("sm_clock_max_mhz", raw, 1.0, 1, CLOCK_MAX_MHZ)
        return self._fastest_mhz

    def _read_link(
        self, sheet: GuardedFigures, *, under_load: bool
    ) -> tuple[int | None, int | None, int | None, int | None]:
        nvml, board = self._nvml, self._device.board
        now = sheet.take("pcie_generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration, board)
        most = sheet.take("pcie_generation_max", nvml.nvmlDeviceGetMaxPcieLinkGeneration, board)
        width = sheet.take("pcie_width", nvml.nvmlDeviceGetCurrPcieLinkWidth, board)
        width_max = sheet.take("pcie_width_max", nvml.nvmlDeviceGetMaxPcieLinkWidth, board)
        generation = sheet.whole("pcie_generation", now, 1, _GENERATION_MAX)
        generation_max = sheet.whole("pcie_generation_max", most, 1, _GENERATION_MAX)
        if generation is not None:
            generation = self._link.seen(generation, generation_max, under_load=under_load)
            if generation is None:
                sheet.missing["pcie_generation"] = "read only at rest so far, where the link is slower"
        return (
            generation,
            generation_max,
            sheet.whole("pcie_width", width, 1, LINK_WIDTH_MAX),
            sheet.whole("pcie_width_max", width_max, 1, LINK_WIDTH_MAX),
        )

    def _mig(self, sheet: GuardedFigures) -> bool | None:
        modes = sheet.take("mig_enabled", self._nvml.nvmlDeviceGetMigMode, self._device.board)
        if modes is None:
            return None
        if modes[0] not in (0, 1):
            sheet.missing["mig_enabled"] = f"the driver reports an impossible value ({modes[0]})"
            return None
        return modes[0] == 1


def _count(sheet: GuardedFigures, name: str, counts: dict[str, int]) -> int | None:
    return sheet.whole(name, counts.get(name), 0, COUNT_MAX)


def _flag(sheet: GuardedFigures, name: str, counts: dict[str, int]) -> bool | None:
    value = sheet.whole(name, counts.get(name), 0, 1)
    return None if value is None else value == 1
