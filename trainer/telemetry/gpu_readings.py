"""What one reading of one GPU gives, at each of the three rates, whatever library it came from.

Every figure is a value, or None with its reason in `missing`. Fields that bear the name of a field of
`GpuView` go there as they are.
"""

import msgspec

WORK_FIGURES = (
    "graphics_share",
    "sm_active_share",
    "occupancy_share",
    "tensor_active_share",
    "dram_active_share",
    "pcie_tx_mib_s",
    "pcie_rx_mib_s",
    "nvlink_tx_mib_s",
    "nvlink_rx_mib_s",
)
"""Figures that are means over time; shown over the window of steps."""
THROTTLE_KINDS = ("power_cap", "sync_boost", "thermal_sw", "thermal_hw", "power_brake")


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """Figures over a stretch of time, by name of the figure."""

    from_s: float
    """`time.monotonic()`; the same clock in all processes of a host."""
    to_s: float
    values: dict[str, float]


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Counters that only rise, as read at one moment."""

    at_s: float
    throttled_ns: dict[str, int] = {}
    """Time with clocks held down since the driver was loaded, by kind."""
    moved_bytes: dict[str, int] = {}
    """By the rate (`…_mib_s`) that follows from it; only where `Means` has no such rate."""


class FastReading(msgspec.Struct, frozen=True, kw_only=True):
    """Activity, four times a second."""

    uuid: str
    at_s: float
    utilisation_share: float | None = None
    means: Means | None = None
    counters: Counters | None = None
    missing: dict[str, str] = {}


class DriverProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process with work on the GPU, as the driver names it: maybe by a pid of another namespace."""

    pid: int
    memory_mib: float | None = None


class SlowReading(msgspec.Struct, frozen=True, kw_only=True):
    """State, once a second."""

    uuid: str
    at_s: float
    energy_j: float | None = None
    """Since the driver was loaded; read at `energy_at_s`."""
    energy_at_s: float = 0.0
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    memory_reserved_mib: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    event_reasons: list[str] | None = None
    processes: list[DriverProcess] | None = None
    xids: list[int] | None = None
    missing: dict[str, str] = {}


class RareReading(msgspec.Struct, frozen=True, kw_only=True):
    """What hardly changes, twice a minute."""

    uuid: str
    at_s: float
    name: str | None = None
    power_limit_w: float | None = None
    sm_clock_max_mhz: float | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    ecc_uncorrected: int | None = None
    rows_remapped: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    mig_enabled: bool | None = None
    missing: dict[str, str] = {}


FAST_FIGURES = ("utilisation_share", *WORK_FIGURES, "throttled_share")
SLOW_FIGURES = (
    "memory_used_mib",
    "memory_total_mib",
    "memory_reserved_mib",
    "power_w",
    "temperature_c",
    "memory_temperature_c",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "event_reasons",
    "foreign_processes",
    "xids",
    "energy_j_per_step",
    "energy_j_per_sample",
)
RARE_FIGURES = (
    "name",
    "power_limit_w",
    "sm_clock_max_mhz",
    "pcie_generation",
    "pcie_generation_max",
    "pcie_width",
    "pcie_width_max",
    "ecc_uncorrected",
    "rows_remapped",
    "remap_pending",
    "remap_failed",
    "mig_enabled",
)
FIGURES = (*FAST_FIGURES, *SLOW_FIGURES, *RARE_FIGURES)
"""The measured figures of a `GpuView`: each is a value, or has its reason in `missing`."""
