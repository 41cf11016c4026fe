"""What the analysis of a profiling window says: one report over all ranks that were read.

The figures are defined in docs/profiling.md. Shares are 0 to 1 of the rank's window unless said otherwise;
None stands for "the trace does not tell", never for zero. `perftui trace --json` prints this very document.
"""

from typing import Literal, get_args

import msgspec

from perftui.ipc.host_work import HostWaits, HostWork

OPERATOR_LIMIT = 500
KERNEL_LIMIT = 500
"""Most rows of a rank, the costliest."""

GapKind = Literal["loader", "sync_call", "host_other", "launch_latency", "dependency"]
"""What a device waited for while it was idle."""
GAP_KINDS: tuple[GapKind, ...] = get_args(GapKind)


class GpuShares(msgspec.Struct, frozen=True, kw_only=True):
    """Five disjoint parts of the window by the device's doing; they sum to 1."""

    compute_only: float
    overlap: float
    """Computing and communicating at once."""
    comm_exposed: float
    mem_exposed: float
    """Copies and fills beside which nothing else ran."""
    idle: float


class IdleShares(msgspec.Struct, frozen=True, kw_only=True):
    """The idle part by what the device waited for; shares of the window, which sum to `GpuShares.idle`."""

    loader: float
    sync_call: float
    """The host stood in a call that waits for the device."""
    host_other: float
    launch_latency: float
    dependency: float
    """Launched long before: waited for another stream, an event, or a collective."""


class IdleGap(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch in which the device did nothing."""

    start_us: float
    """From the window's start."""
    duration_us: float
    kind: GapKind
    """The largest part of it."""
    host: str | None
    """What the launching thread was in for most of it: operator, call or mark; None: nothing recorded."""
    before: str | None
    """The kernel that ended it; None at the window's end."""
    step: int | None
    device: int = 0


class KernelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel, copy or fill by name."""

    name: str
    kind: str
    """gemm, conv, attention, norm, elementwise, reduce, optimizer, copy, communication, triton, other."""
    count: int
    total_us: float
    self_us: float
    """Time in which it alone held the device; equal to `total_us` where streams do not overlap."""
    mean_us: float
    max_us: float
    share: float
    """Of the summed device time."""
    tensor_cores: bool | None
    """By its name; None: the name does not tell."""


class ShapeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """An operator with one set of input shapes."""

    shapes: str
    count: int
    self_us: float
    device_us: float | None


class CallerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """An operator below one caller."""

    caller: str
    """The enclosing operator or mark; `file:line function` where stacks were recorded."""
    count: int
    total_us: float
    device_us: float | None


class OperatorFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One operator, all threads of the rank."""

    name: str
    count: int
    total_us: float
    """Host time with what it called."""
    self_us: float
    device_us: float | None
    """Device time of everything launched in it."""
    self_device_us: float | None
    share: float
    """Self time over that of all operators: device time where there is a device, else host time."""
    host_per_device: float | None
    """Self host time over self device time: above 1 the host is what it waits for (launch-bound)."""
    shapes: list[ShapeFigures] = []
    """Largest first; empty unless shapes were recorded."""
    callers: list[CallerFigures] = []


class LaunchFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of an API call and the device work it started; a graph launch counts once."""

    count: int
    graph_launches: int
    driver_launches: int
    per_step: float | None
    call_us_total: float
    call_us_p50: float
    call_us_max: float
    device_us_p50: float
    delay_us_p50: float
    """From the end of the call to the start on the device."""
    delay_us_p90: float
    delay_us_max: float
    short_share: float
    """Of launches whose work on the device took less time than the call."""
    slow_calls: int
    """Calls above 50 µs."""
    long_delays: int
    """Delays above 100 µs."""


class QueueFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How far the host was ahead of one stream."""

    device: int
    stream: int
    mean_depth: float
    """Weighted with time."""
    max_depth: int
    full_share: float
    """Of the window with 1000 or more waiting: the launch queue holds about 1024."""


class SyncFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that made the host wait for the device, by call and place."""

    call: str
    operator: str | None
    """Such as `aten::item`, `aten::_local_scalar_dense`, `aten::nonzero`."""
    where: str | None
    """`file:line function`, where stacks were recorded."""
    count: int
    per_step: float | None
    total_us: float
    share: float
    drained_us: float | None = None
    """How long the device was idle for the host after it had run dry in such a call, summed over devices."""


class CopyFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Copies and fills of one kind."""

    kind: str
    """As the trace names it, such as `HtoD (Pageable -> Device)`."""
    pageable: bool | None
    count: int
    total_us: float
    mib: float | None
    gib_s: float | None
    exposed_us: float
    """While no kernel ran on the device."""
    per_step: float | None
    call_us: float | None = None
    """Host time in the calls that started them; None: no such call in the trace."""


class KernelClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All kernels of one class."""

    kind: str
    count: int
    total_us: float
    share: float
    tensor_core_share: float | None
    """Of the class's time, where names tell; None elsewhere."""


class AllocatorFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Allocations that reached the device's driver, and the churn above them where memory was recorded."""

    device_allocations: int | None
    """cudaMalloc, hipMalloc and the like: none in a steady state. None where no call of a device's API was
    recorded, as without a device."""
    device_frees: int | None
    total_us: float | None
    peak_mib: float | None = None
    allocated_mib_per_step: float | None = None


class CompileFigures(msgspec.Struct, frozen=True, kw_only=True):
    """torch.compile within the window."""

    compiling_us: float
    """Time spent compiling: when above 0, the window does not show the steady state."""
    compiled_share: float | None
    """Of the host's time in the window inside compiled regions."""


class CollectiveFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of collective in one process group, on one rank."""

    name: str
    group: str | None
    count: int
    total_us: float
    exposed_us: float
    mib: float | None
    wait_us: float | None = None
    """Above the shortest of all ranks, summed over matched calls: waiting for whoever came last."""


class StepSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded step."""

    step: int
    start_us: float
    duration_us: float
    device_busy_share: float | None
    loader_share: float | None
    """None where no fetch from a loader was recorded in the whole window."""


class TrustCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One question on whether the trace can be believed."""

    name: str
    """device_events, causality, unlinked, lost_launches, complete_steps, compiling, truncated,
    graphs_on_rocm, distortion, start_skew."""
    passed: bool | None
    """None: cannot be asked of this trace."""
    value: float | None
    text: str
    suppresses: list[str] = []
    """Findings and figures that are not to be believed when it fails."""


class HtaFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The same trace by the conventions of Holistic Trace Analysis: all steps, first to last kernel; in %."""

    idle_pct: float
    compute_pct: float
    non_compute_pct: float
    overlap_pct: float | None
    """None without communication."""
    idle_classes: dict[str, dict[str, float]]
    """Stream → host_wait, kernel_wait, other: microseconds."""
    launch_stats: dict[str, float]


class RankReport(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's trace."""

    rank: int
    path: str
    host: str | None = None
    device_name: str | None = None
    events: int | None = None
    """In the trace, of every kind."""
    devices: int = 1
    """That worked in the window; shares of the GPU's time are their mean."""
    error: str | None = None
    """Why it could not be read: the rest is then empty."""
    window_ms: float | None = None
    steps: list[StepSpan] = []
    step_ms_before: float | None = None
    """Median step without the profiler, right before the window; None for traces from elsewhere."""
    sentence: str = ""
    """Of the step as it is without the profiler, where `step_ms_before` allows."""
    gpu: GpuShares | None = None
    """None without device events."""
    idle: IdleShares | None = None
    queued_gap_share: float | None = None
    """The part of `idle.launch_latency` in gaps before work that had been launched when they began: the host
    was ahead. Of the window."""
    sync_drained_share: float | None = None
    """The host's part (sync_call, host_other) of gaps that began while the host stood in a call that waits
    for the device, with nothing queued. Of the window."""
    copy_drained_share: float | None = None
    """The same, where that call copied from pageable memory."""
    host_waits: HostWaits | None = None
    host_work: HostWork | None = None
    loader_share: float | None = None
    optimizer_share: float | None = None
    gaps: list[IdleGap] = []
    """Largest first, at most 200."""
    kernels: list[KernelFigures] = []
    kernel_classes: list[KernelClassFigures] = []
    tensor_core_share: float | None = None
    """Of the time of all kernels that compute; a kernel whose name does not tell counts as none."""
    sm_efficiency: float | None = None
    """Estimated: mean over the window of the share of multiprocessors that had a block to run."""
    occupancy: float | None = None
    """Estimated: of the kernels' warps, weighted with time."""
    operators: list[OperatorFigures] = []
    launches: LaunchFigures | None = None
    queue: list[QueueFigures] = []
    syncs: list[SyncFigures] = []
    memcpy: list[CopyFigures] = []
    collectives: list[CollectiveFigures] = []
    allocator: AllocatorFigures | None = None
    compile: CompileFigures | None = None
    trust: list[TrustCheck] = []
    notes: list[str] = []
    hta: HtaFigures | None = None
    timeline_path: str | None = None
    """A `TraceTimeline` beside the report."""

    def share_of_devices(self, device_us: float) -> float | None:
        """Return a time that is summed over devices as a share of theirs; None without a window."""
        return device_us / (1000 * self.window_ms * max(1, self.devices)) if self.window_ms else None


class RankWait(msgspec.Struct, frozen=True, kw_only=True):
    """How a rank stands among the others in the collectives that all of them ran."""

    rank: int
    matched: int
    wait_us: float
    late_us: float
    """Mean lateness against the first to arrive, ends aligned: no clock of another host is needed."""
    last_share: float
    """Of matched collectives at which it arrived last."""


class TraceReport(msgspec.Struct, frozen=True, kw_only=True):
    """A window over its ranks."""

    schema: int = 1
    sentence: str = ""
    ranks: list[RankReport] = []
    windows: bool = False
    """They are several windows of one rank, or of a few: `rank` counts the files, and nothing is compared."""
    waits: list[RankWait] = []
    """Empty for a single rank, or where no collective could be matched."""
    straggler: int | None = None
    """The rank the others wait for, where one stands out."""
    notes: list[str] = []


class TimelineLane(msgspec.Struct, frozen=True, kw_only=True):
    """One stream or host thread, its spans sorted by start, as columns of equal length."""

    kind: Literal["stream", "thread"]
    title: str
    name: list[int]
    """Index into `TraceTimeline.names`."""
    start_ns: list[int]
    """From the window's start."""
    duration_ns: list[int]
    depth: list[int]
    """Nesting, 0 outermost; all 0 on streams."""
    caller: list[int | None] = []
    """On streams: the operator or mark that launched it, as index into `TraceTimeline.names`; None: the trace
    does not tell. Empty on threads."""
    launched_ns: list[int | None] = []
    """On streams: when the call that launched it began; None: the trace does not tell. Empty on threads."""


class TraceTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a timeline is drawn from."""

    window_ns: int
    names: list[str]
    classes: list[str]
    """Of each name: the kernel class, or operator, call, loader, sync, step."""
    lanes: list[TimelineLane]
    steps: list[StepSpan]
    left_out: int = 0
    """Spans of the window that are not in it, the shortest ones: it has at most 200,000."""
