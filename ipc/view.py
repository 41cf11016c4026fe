"""What the hub tells a dashboard: the run as it stands, ready to be formatted.

Dashboards compute nothing: every statistic and judgement in here was made by the hub. `None` always means
"not measured"; where a reason is worth showing it stands in a field beside it.
"""

from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.facts import RankFacts, RunPhase
from perftui.ipc.findings import Finding
from perftui.ipc.gpu_view import GpuProcess as GpuProcess
from perftui.ipc.gpu_view import GpuView as GpuView
from perftui.ipc.host_links import HostLink
from perftui.ipc.host_view import HostView as HostView
from perftui.ipc.host_view import LoaderWorkers as LoaderWorkers
from perftui.ipc.host_view import Pressure as Pressure
from perftui.ipc.host_view import WorkerView as WorkerView
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.mark import Mark as Mark
from perftui.ipc.messages import Preset
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
    wait_ms: float | None = None
    """In which the training thread waited for its loader and gave the device nothing to do: idle at least.
    None where no fetch is seen."""
    h2d_ms: float | None = None
    """Copies to the device; None where none were seen."""
    forward_ms: float | None = None
    """None where no fetch is seen: nobody knows then where it began, and that time is other."""
    backward_ms: float
    comm_exposed_ms: float | None = None
    """From the end of the backward's own work to the end of DDP's communication; None without DDP."""
    optimizer_ms: float
    other_ms: float


class RankView(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
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
    brief: bool = False
    """One of many, at which nobody looks: what is empty or None of `losses`, `settings`, `settings_failed`,
    `device_ms`, `facts` and `phases_s` is as before."""


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
    replay_speed: float | None = None
    """How many times as fast as it happened a recording is played; None: this is no replay."""
    replay_paused: bool = False
    replay_total_s: float | None = None
    """How long the recorded run took."""
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
    elapsed_s: float | None = None
    """From its launch on."""
    limit_s: float | None = None
    """When it ends at the latest, counted likewise."""
    share: float | None = None
    """About how much of it is over, 0 to 1."""
    why: str | None = None
    """Why it goes on, though it has steps enough."""


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


class RankHistory(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Steps of one rank that are new to this dashboard, as columns."""

    rank: int
    first_step: int
    stride: int
    """Steps that each point stands for: 1, or more where older history was thinned (means)."""
    wall_ms: list[float]
    wait_ms: list[float]
    flags: list[int]


class RanksTogether(msgspec.Struct, frozen=True, kw_only=True):
    """All ranks at one glance."""

    states: dict[RankState, int]
    """How many are in which state."""
    medians: dict[str, float]
    """Over the ranks that train: `now_ms`, `p50_ms`, `p99_ms`, `samples_per_s`, `tokens_per_s`, and each
    phase of `Shares`; what no rank has measured is not there."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a dashboard shows of a run, except history and output, which come as increments."""

    header: Header
    ranks: list[RankView] = []
    gpus: list[GpuView] | None = []
    """None: as before."""
    hosts: list[HostView] | None = []
    """None: as before. Of many ranks, single workers only of those that are looked at more closely."""
    findings: list[Finding] = []
    profiles: list[ProfileView] = []
    relaunch: RelaunchView | None = None
    trials_s: tuple[float, float] | None = None
    """How long the trials of the leading remedy will take, in seconds: about, and at most."""
    together: RanksTogether | None = None
    """None while there are no ranks."""
    links: list[HostLink] = []
    """The hosts of a run that has several, the lead first; empty: it has one."""
