"""What the hub tells of a GPU; part of `view`, apart for its size."""

import msgspec


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process on a GPU that does not belong to the run."""

    pid: int
    name: str | None = None
    """None: it cannot be looked up."""
    memory_mib: float | None = None


class GpuView(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU that a rank uses; each figure is a value or None with the reason in `missing`.

    Figures of work (shares, rates, energy) are means over the last `window_s` seconds; where `window_steps`
    is not 0 these are the seconds of that many steps of its ranks. All others are as last read.
    """

    uuid: str
    host: str
    ranks: list[int]
    age_s: float
    """Since the newest reading."""
    name: str | None = None
    utilisation_share: float | None = None
    """Share of time with at least one kernel running: not a measure of efficiency."""
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    sm_clock_mhz: float | None = None
    missing: dict[str, str] = {}
    """Why a figure is None; `throttled_share.KIND` where one kind of throttling alone is not known."""
    graphics_share: float | None = None
    """Share of time with any engine for compute or graphics busy."""
    sm_active_share: float | None = None
    """Mean over the multiprocessors of the share of time with at least one warp resident, be it stalled."""
    occupancy_share: float | None = None
    """Resident warps over the most that fit."""
    tensor_active_share: float | None = None
    """Share of time with tensor cores busy, of their peak."""
    dram_active_share: float | None = None
    """Share of time with the memory interface busy."""
    pcie_tx_mib_s: float | None = None
    """From the GPU to the host."""
    pcie_rx_mib_s: float | None = None
    """From the host to the GPU."""
    nvlink_tx_mib_s: float | None = None
    nvlink_rx_mib_s: float | None = None
    energy_j_per_step: float | None = None
    """Of the whole board: other processes on it count in."""
    energy_j_per_sample: float | None = None
    throttled_share: dict[str, float] | None = None
    """Share of time with clocks held down, by kind: power_cap, thermal_sw, thermal_hw, power_brake,
    sync_boost."""
    window_steps: int = 0
    """0: no step was joined; the means cover the newest seconds."""
    window_s: float | None = None
    memory_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    memory_reserved_mib: float | None = None
    """Held by the driver itself, beside `memory_used_mib`."""
    memory_temperature_c: float | None = None
    event_reasons: list[str] | None = None
    """What bounds the clocks at this moment; a bit that has no name here is `bit 0x…`."""
    pcie_generation: int | None = None
    """The highest seen since the run began: at rest a link runs at a lower one."""
    pcie_generation_max: int | None = None
    """What GPU and host could do."""
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    ecc_uncorrected: int | None = None
    """Uncorrected memory errors since the driver was loaded."""
    rows_remapped: int | None = None
    """Memory rows replaced for uncorrectable errors, over the GPU's life."""
    remap_pending: bool | None = None
    """A row is to be replaced at the next reset."""
    remap_failed: bool | None = None
    xids: list[int] | None = None
    """Critical errors (XID numbers) that the driver reported since the readings began, oldest first."""
    mig_enabled: bool | None = None
    foreign_processes: list[GpuProcess] | None = None
    """Processes on this GPU that are not the run's; None: unknown."""
    backend: str | None = None
    """The library that was read, with the driver's version."""
    ages_s: dict[str, float] = {}
    """Since the newest reading of each rate: fast, slow, rare."""
    period_s: float | None = None
    """Between two fast readings, as in force: longer than asked for where a reading takes long."""
    sweep_ms: float | None = None
    """95th percentile of the time that one fast reading of all GPUs takes."""
    sampler_cpu_share: float | None = None
    """CPU time of the sampler's process over wall time: a share of one core."""
