"""What a rank and its hub say to each other. `docs/protocol.md` is the authority; a test holds both together.

Evolution: new fields come last and have defaults; types never change; a new message kind raises
`PROTOCOL_VERSION`. Times named `*_ns` are `perf_counter_ns` of the rank unless a docstring says otherwise;
`Hello.wall_offset_ns` turns them into unix time.
"""

from typing import Literal, TypeAlias, TypedDict

import msgspec

from perftui.ipc.facts import RankFacts
from perftui.ipc.settings import SettingValue

PROTOCOL_VERSION = 5

FLAG_EPOCH_START = 1
"""First step of an epoch: its wait includes creating the iterator."""
FLAG_PROFILED = 2
"""Inside a profiling window, or just after it: kept out of statistics and verdicts."""
FLAG_COMPILING = 4
"""torch.compile compiled something during this step."""
FLAG_FAILED = 8
"""The step raised, or was abandoned before its optimizer stepped."""
FLAG_LOADER_BOUNDARY = 16
"""No optimizer was seen: the step is bounded by loader fetches."""
FLAG_WAIT_UNKNOWN = 32
"""No DataLoader fetch was seen in this step: neither its wait nor where its forward began was measured."""
FLAG_PHASES_UNKNOWN = 64
"""No backward was seen in this step: forward and backward were not measured."""
FLAG_EXPLICIT_BOUNDARY = 128
"""The script itself said where the step ends (`watch().step()`)."""
FLAG_SAMPLED = 256
"""Looked at in detail: copies, communication, device times. It took some hundred microseconds more."""
FLAG_ASLEEP = 512
"""The hooks slept through it, to be compared with its neighbours: its phases are not known."""

UNUSUAL_FLAGS = FLAG_PROFILED | FLAG_COMPILING | FLAG_FAILED | FLAG_ASLEEP
"""Steps with any of these are shown, and kept out of statistics."""


class RankMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every frame from a rank carries."""

    run_id: str
    host: str
    rank: int
    seq: int
    """Counts the frames of this rank from 0: a gap is a lost frame."""


class Sender(TypedDict):
    """What a rank's outbox fills in when it sends."""

    run_id: str
    host: str
    rank: int
    seq: int


BLANK: Sender = {"run_id": "", "host": "", "rank": 0, "seq": 0}


class Hello(RankMessage, frozen=True, kw_only=True, tag="hello"):
    """A training process has shown itself by a first training event."""

    protocol: int
    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat: with the pid it names the process for good."""
    local_rank: int
    world_size: int
    python: str
    torch: str
    device: str
    """`cpu`, `cuda:0`, …: where the first optimizer's parameters live; `unknown` until seen."""
    command: list[str]
    wall_offset_ns: int
    """Unix time minus perf_counter, in ns, taken once."""
    gpu_uuid: str | None = None
    trial: bool = False
    rank_known: bool = True
    """False when neither torch.distributed nor the environment names a rank: then 0 is assumed."""
    pid_namespace: int | None = None
    """Inode of /proc/self/ns/pid: in another one than the hub's, pids mean other processes."""

    @property
    def process(self) -> tuple[str, int, int]:
        """What names its process for good, on any host: the host, the pid and when it started."""
        return self.host, self.pid, self.start_ticks


class StepBatch(RankMessage, frozen=True, kw_only=True, tag="steps"):
    """Consecutive finished steps as columns of equal length, oldest first. At most ten frames a second."""

    first_step: int
    """Index of the first step in this frame; steps count from 0 over the life of the process."""
    end_ns: list[int]
    wall_ns: list[int]
    wait_ns: list[int]
    """Exposed loader wait; meaningless where FLAG_WAIT_UNKNOWN is set."""
    forward_ns: list[int]
    """Host time from the batch's arrival to the start of backward.

    With FLAG_WAIT_UNKNOWN from the end of the phase before, so that it holds what fed the step as well.
    """
    backward_ns: list[int]
    optimizer_ns: list[int]
    cpu_ns: list[int]
    """CPU time of the training thread; -1 where it was not asked, as for the last step."""
    samples: list[int]
    """That the step trained on, over its micro-batches; -1 where the batch gives no size."""
    micro_batches: list[int]
    """Batches that the step trained on: not those fetched in it, where a loader is read ahead."""
    epoch: list[int]
    flags: list[int]
    dropped: int = 0
    """Steps dropped so far by this rank because its ring or its queue was full."""
    probe_ns: int = 0
    """Time spent in the probe's background thread so far (CPU of that thread)."""
    hook_ns: int = 0
    """Time of the training thread in the probe's hooks so far, by one in 61 stamps that may begin a step."""
    hook_steps: int = 0
    """How many steps that was for; 0 before the first measurement."""
    h2d_ns: list[int] = []
    """Of the forward: copying to the device; -1 where it was not looked at; empty if nowhere."""
    comm_ns: list[int] = []
    """Of the backward: exposed communication; -1 where it was not looked at; empty if nowhere."""
    worker: list[int] = []
    """Loader worker of the last batch; -1 where there is none; empty if nowhere."""
    tokens: list[int] = []
    """That the step trained on, padding too; -1 where batches hold none; empty if nowhere."""
    shadow_steps: int = 0
    """How many steps that the hooks slept through the next figures stand on: the newest, at most 512."""
    shadow_us: float | None = None
    """What awake steps take more than those, in wall time; None while they are few."""
    shadow_se_us: float | None = None
    """Its standard error."""
    shadow_cpu_us: float | None = None
    """The same in CPU time of the training thread."""
    shadow_cpu_se_us: float | None = None


class DeviceSteps(RankMessage, frozen=True, kw_only=True, tag="device"):
    """Sampled steps on the device's own timeline, as columns of equal length; times in ms.

    From events on the stream of the training thread. The parts sum to `total_ms`; each but `wait_ms` holds
    what the device idled in it.
    """

    step: list[int]
    total_ms: list[float]
    wait_ms: list[float]
    """From the fetch's beginning to its end, in which the thread gave the device nothing to do; negative
    where no fetch was seen."""
    h2d_ms: list[float]
    """Copies to the device; negative where they were not looked at."""
    forward_ms: list[float]
    """Negative where no fetch was seen: what comes before the backward is other then."""
    backward_ms: list[float]
    comm_ms: list[float]
    """From the end of the backward's own work to the end of its communication; negative without DDP."""
    optimizer_ms: list[float]
    other_ms: list[float]


class LossSample(RankMessage, frozen=True, kw_only=True, tag="loss"):
    """The value of the scalar on which backward was called, every tenth step."""

    step: int
    value: float


class LoaderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the live training loader says of itself."""

    index: int
    """Which DataLoader of the process, in order of construction from 0."""
    num_workers: int
    batch_size: int | None
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory: bool
    multiprocessing_context: str | None
    in_order: bool
    batches_per_epoch: int | None
    iterable: bool
    dataset: str
    sharded: bool | None = None
    """For an IterableDataset: whether it asked for its worker's number; None when not known."""
    worker_pids: list[int] = []
    """Pids of its newest iterator's workers in the order of their numbers; empty: not told, the hub looks for
    them."""
    worker_start_ticks: list[int] = []
    """Field 22 of /proc/PID/stat of each; 0 for one that had ended before it could be read."""
    made_at: str | None = None
    """file:line and function of the script's own that make it, with the framework that does it for them;
    None: the script's own code has no part in it."""
    fetch_at: str = ""
    """`file:line name` of the script's own code that is asked for samples; empty: not known, or installed."""
    collate_at: str = ""
    """The same of what puts them together."""


class Effective(RankMessage, frozen=True, kw_only=True, tag="effective"):
    """Settings in force, read back from live objects; sent whenever they change."""

    settings: dict[str, SettingValue]
    failed: dict[str, str]
    """Settings that were asked for and could not be applied, with the reason."""
    loader: LoaderFacts | None = None
    device: str | None = None
    gpu_uuid: str | None = None
    read_ahead: LoaderFacts | None = None
    """A loader from which another thread takes batches, where the training thread takes from none."""


EventKind: TypeAlias = Literal[
    "epoch",
    "validation",
    "checkpoint",
    "compile",
    "probe_error",
    "written",
    "note",
    "loader",
    "gc",
    "allocator",
]


class Facts(RankMessage, frozen=True, kw_only=True, tag="facts"):
    """What the rank tells of itself beside its steps, at most once a second.

    A subject that is None, and for which `facts.missing` has no reason, is as it was told before. All
    subjects are told after a hello, and once a minute.
    """

    at_ns: int
    facts: RankFacts


class RankEvent(RankMessage, frozen=True, kw_only=True, tag="event"):
    """Something that happened, worth a line and a mark on the time axis."""

    at_ns: int
    event: EventKind
    text: str
    duration_ns: int = 0
    step: int = -1
    aside: bool = False
    """The training thread did not do it itself: a checkpoint that another thread writes."""
    at: str | None = None
    """file:line and function of the script's own that did it, where that is known."""
    size_bytes: int | None = None
    """Of the files of a checkpoint."""


WindowState: TypeAlias = Literal[
    "armed",
    "late",
    "busy",
    "warming",
    "recording",
    "saving",
    "done",
    "failed",
    "aborted",
    "unsupported",
    "cancelled",
    "truncated",
]
FINAL_STATES: frozenset[str] = frozenset(
    ("late", "busy", "done", "failed", "aborted", "unsupported", "cancelled", "truncated")
)
"""Nothing follows them. `done` and `truncated` have a trace, unless the rank was not to keep it."""
Preset: TypeAlias = Literal["light", "shapes", "memory", "stacks"]


class WindowReport(RankMessage, frozen=True, kw_only=True, tag="window"):
    """Where a profiling window of this rank stands."""

    window_id: str
    state: WindowState
    reason: str | None = None
    start_step: int = -1
    steps: int = 0
    path: str | None = None
    """The trace file, relative to the run's directory."""
    cost_ms: dict[str, float] = {}
    """As `ProfileRank.cost_ms` has them."""
    events: int = 0
    """Events in the trace; 0 where none was written."""
    preset: Preset = "light"
    snapshot: str | None = None
    """The allocator's history, as torch's memory viewer reads it; beside the trace."""


class Beat(RankMessage, frozen=True, kw_only=True, tag="beat"):
    """Sent each second when nothing else was: the rank lives."""

    at_ns: int
    step: int


class Goodbye(RankMessage, frozen=True, kw_only=True, tag="goodbye"):
    """The process ends in an orderly way."""

    reason: str
    dropped: int
    errors: int
    """Exceptions that the probe's border swallowed."""


FromRank: TypeAlias = (
    Hello
    | StepBatch
    | DeviceSteps
    | LossSample
    | Effective
    | Facts
    | RankEvent
    | WindowReport
    | Beat
    | Goodbye
)


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="welcome"):
    """The hub has seen this rank's hello; after a hub's restart it asks for a new one."""

    protocol: int
    hub_pid: int


class AskHello(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ask_hello"):
    """The hub does not know this rank (it was restarted): say hello and effective settings again."""


class ArmWindow(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="arm"):
    """Open a profiling window at an absolute step."""

    window_id: str
    start_step: int
    """First recorded step; negative: as soon as possible (a single rank need not agree with others)."""
    warm_steps: int
    steps: int
    preset: Preset
    directory: str
    """Absolute path of the folder for the trace file."""
    keep: bool = True


class CancelWindow(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="cancel"):
    """End a window without a result; one that is being saved is left to end by itself."""

    window_id: str


ToRank: TypeAlias = Welcome | AskHello | ArmWindow | CancelWindow
