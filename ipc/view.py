"""What the hub tells a dashboard: the run as it stands, ready to be formatted.

Dashboards compute nothing: every statistic and judgement in here was made by the hub. `None` always means
"not measured"; where a reason is worth showing it stands in a field beside it.
"""

from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.facts import RankFacts, RunPhase
from perftui.ipc.findings import Finding
from perftui.ipc.host_links import HostLink
from perftui.ipc.host_view import HostView as HostView
from perftui.ipc.host_view import LoaderWorkers as LoaderWorkers
from perftui.ipc.host_view import Pressure as Pressure
from perftui.ipc.host_view import WorkerView as WorkerView
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.messages import Preset
from perftui.ipc.run_history import Mark as Mark
from perftui.ipc.run_history import RankHistory as RankHistory
from perftui.ipc.settings import SettingValue
from perftui.ipc.worker_stacks import WorkerStacks

RunState: TypeAlias = Literal[
    "starting", "waiting", "training", "stalled", "stopping", "finished", "failed", "stopped", "lost"
]
"""waiting: the process runs, no training event yet. stalled: no rank has stepped for long."""
ProfileState: TypeAlias = Literal["armed", "recording", "analysing", "done", "failed"]
RankState: TypeAlias = Literal["starting", "training", "validating", "profiling", "silent", "ended"]


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a step's host wall time; the measured ones sum to 1."""

    loader_wait: float | None = None
    h2d: float | None = None
    forward: float | None = None
    backward: float | None = None
    optimizer: float | None = None
    comm_exposed: float | None = None
    other: float | None = None


class StepStats(msgspec.Struct, frozen=True, kw_only=True):
    """Step wall time over a window, in milliseconds."""

    mean: float
    p50: float
    p90: float
    p99: float


class DeviceView(msgspec.Struct, frozen=True, kw_only=True):
    """A step on the device's own timeline, mean over the sampled steps; in ms.

    From events on the stream of the training thread, without a synchronisation. The parts sum to `step_ms`
    but for the copies and the communication where these were looked at in some of the steps only.
    """

    sampled_steps: int
    step_ms: float
    wait_ms: float
    """In which the training thread waited for its loader and gave the device nothing to do: idle at least."""
    h2d_ms: float | None = None
    """Copies to the device; None where none were seen."""
    forward_ms: float
    backward_ms: float
    comm_exposed_ms: float | None = None
    """From the end of the backward's own work to the end of DDP's communication; None without DDP."""
    optimizer_ms: float
    other_ms: float


class RankView(msgspec.Struct, frozen=True, kw_only=True):
    """One rank as it stands."""

    rank: int
    host: str
    pid: int
    state: RankState
    age_s: float
    """Since its last frame."""
    device: str
    gpu_uuid: str | None
    world_size: int
    steps: int
    epoch: int
    boundary: Literal["optimizer", "loader", "explicit"]
    window_steps: int
    """How many steps the statistics below cover."""
    now_ms: float | None = None
    step_ms: StepStats | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    shares: Shares = Shares()
    cpu_share: float | None = None
    """CPU time of the training thread over wall time."""
    loss: float | None = None
    losses: list[tuple[int, float]] = []
    """The newest losses as (step, value), oldest first."""
    dropped: int = 0
    lost_frames: int = 0
    probe_errors: int = 0
    settings: dict[str, SettingValue] = {}
    settings_failed: dict[str, str] = {}
    marks: list[str] = []
    """Finding codes that point at this rank."""
    changed: int = 0
    """Update number at which this view last changed."""
    device_ms: DeviceView | None = None
    """None without a GPU, or before the first sampled steps have come through it."""
    workers: LoaderWorkers | None = None
    """Its loader workers taken together, each of them in `HostView.workers`; None: none seen."""
    facts: RankFacts | None = None
    """What the rank tells beside its steps; None, in an increment alone: as before."""
    phase: RunPhase | None = None
    """What it is at; None before its first word, and of a rank that does not tell."""
    phase_for_s: float | None = None
    """How long that goes on already."""
    phases_s: dict[str, float] | None = None
    """What its time went to since the launch, by phase; they sum to that time."""
    tokens_per_s: float | None = None
    """Padding too; None: its batches hold no tokens."""


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


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The run as a whole."""

    run_id: str
    name: str
    host: str
    command: list[str]
    state: RunState
    started_unix: float
    elapsed_s: float
    """Since the launch; stops with the run."""
    world_size: int = 1
    step: int | None = None
    epoch: int | None = None
    steps_total: int | None = None
    """When the loader's length and nothing else bounds it, per epoch."""
    eta_s: float | None = None
    """To the end of the epoch, unless the number of epochs is known."""
    loss: float | None = None
    exit_code: int | None = None
    stopped_by: str | None = None
    message: str | None = None
    """One line of news: why it failed, what it waits for."""
    owned: bool = True
    """False when the run was not started by `perftui run`: it can be watched, not relaunched."""
    trial: bool = False
    parent: str | None = None
    successor: str | None = None
    """The run that replaced this one: dashboards follow it."""
    replay: bool = False
    settings: dict[str, SettingValue] = {}
    hub_pid: int = 0
    hub_restarts: int = 0
    overhead_us: float | None = None
    """Time of the training thread in perftui's hooks, per step."""
    overhead_share: float | None = None
    epoch_step: int | None = None
    """Steps that the lead rank has done of this epoch."""
    phase: RunPhase | None = None
    """What the lead rank is at."""
    phase_for_s: float | None = None
    """How long that goes on already."""
    shadow_us: float | None = None
    """What steps take more than those through which the hooks slept, in CPU time of the training thread."""
    shadow_se_us: float | None = None
    """Its standard error."""
    step_us: float | None = None
    """Mean wall time of a usual step, over all ranks."""
    attempt: int = 1
    """How often the launcher has started the ranks so far; steps and epochs are of the newest time."""


class OperatorRow(msgspec.Struct, frozen=True, kw_only=True):
    """One operator over a window, all threads of one rank."""

    name: str
    count: int
    self_cpu_us: float
    cpu_us: float
    self_device_us: float | None
    device_us: float | None
    share: float
    """Self time over the window's steps: device time where there is a device, else CPU time."""


class KernelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One device kernel over a window."""

    name: str
    count: int
    total_us: float
    share: float
    """Of all device time."""


class ProfileRank(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank contributed to a window."""

    rank: int
    state: str
    reason: str | None = None
    path: str | None = None
    window_ms: float | None = None
    step_ms_before: float | None = None
    step_ms_after: float | None = None
    stall_ms: float | None = None
    operators: list[OperatorRow] = []
    kernels: list[KernelRow] = []
    loader_share: float | None = None
    device_busy_share: float | None = None
    cost_ms: dict[str, float] = {}
    """prepare, start, drain (waiting for the device's queue), stop, save: what each took; stall: what the
    training thread stood still for, the first four. write, drop: parts of the saving in which torch holds
    Python's lock, so that a training thread that needs it waits too."""
    events: int | None = None
    """Events in the trace."""
    snapshot: str | None = None
    """The allocator's history of the `memory` preset, for torch's memory viewer."""


class ProfileView(msgspec.Struct, frozen=True, kw_only=True):
    """One profiling window over all ranks."""

    window_id: str
    state: ProfileState
    start_step: int
    steps: int
    requested_unix: float
    sentence: str | None = None
    ranks: list[ProfileRank] = []
    report_path: str | None = None
    """A `TraceReport`, on the hub's host, once it is analysed."""
    preset: Preset = "light"
    opened_by: str = "command"
    """Who asked: command, PERFTUI_PROFILE, or the schedule in words."""
    asked_steps: int | None = None
    """Steps that were asked for, where it was more than `steps`; `window_notes` has the reason."""
    window_notes: list[str] = []
    """What to know of how it was taken: ranks that took no part and why, steps cut short, files deleted."""
    worker_stacks: list[WorkerStacks] = []
    """Where the loader workers were in the same seconds, one entry a worker."""


class LaunchProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One trial launch as it goes."""

    label: Literal["A", "B"]
    state: Literal["waiting", "starting", "warming", "measuring", "done", "failed"]
    steps: int = 0
    step_ms: float | None = None
    launch: Launch | None = None


class RelaunchView(msgspec.Struct, frozen=True, kw_only=True):
    """A relaunch from the question to the verdict."""

    relaunch_id: str
    state: Literal["stopping", "measuring", "starting", "done", "failed"]
    set: dict[str, SettingValue]
    before: dict[str, SettingValue]
    launches: list[LaunchProgress] = []
    verdict: Verdict | None = None
    message: str | None = None
    """One line: what is being done, or how it ended."""
    successor: str | None = None
    most_launches: int = 4
    """More are not made, whatever comes out."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a dashboard shows of a run, except history and output, which come as increments."""

    header: Header
    ranks: list[RankView] = []
    gpus: list[GpuView] = []
    hosts: list[HostView] = []
    findings: list[Finding] = []
    profiles: list[ProfileView] = []
    relaunch: RelaunchView | None = None
    trials_s: tuple[float, float] | None = None
    """How long the trials of the leading remedy will take, in seconds: about, and at most."""
    links: list[HostLink] = []
    """The hosts of a run that has several, the lead first; empty: it has one."""
