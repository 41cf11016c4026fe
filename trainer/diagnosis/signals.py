"""What the rules may look at: one frozen window of measured signals. `None` means never measured."""

from dataclasses import dataclass, field

from perftui.ipc.facts import RankFacts
from perftui.ipc.ledger_records import Outcome
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.ipc.trace_report import RankReport, TraceReport
from perftui.ipc.view import DeviceView, GpuView, LoaderWorkers, Pressure, Shares, StepStats
from perftui.ipc.worker_stacks import WorkerStacks


@dataclass(frozen=True)
class FactsChange:
    """By how much totals of a rank grew over a stretch of time; None where one end was not measured."""

    seconds: float
    steps: int
    gc_ms: float | None = None
    """Time in Python's garbage collections, which stop every thread."""
    compile_s: float | None = None
    recompiles: float | None = None
    graph_breaks: float | None = None
    alloc_retries: float | None = None
    device_frees: float | None = None
    allocated_mib: float | None = None
    reserved_mib: float | None = None
    limit_hits: float | None = None
    cudagraph_skips: float | None = None
    kept_mib: float | None = None
    """Resident memory of the rank's process, without pages of mapped files."""
    kept_rise: float | None = None
    """Share of the looks within this time at which it was higher than ever before."""
    allocated_rise: float | None = None
    """The same for memory allocated on the GPU."""
    loading: LoadingFacts | None = None
    """The batches that were made within, and what they took; None where another loader trained before."""


@dataclass(frozen=True)
class WorkerGrowth:
    """By how much the memory of one loader worker grew over a stretch of time; the others do as it does."""

    seconds: float
    private_mib: float
    """Of what it shares with nobody."""
    rss_mib: float
    """Of all that it sees, what it shares with its rank since it was forked among it."""
    rise: float | None
    """Share of the looks at which it had more to itself than ever before; None: too few looks."""


@dataclass(frozen=True)
class EpochWait:
    """The loader wait of one epoch, without what starting its workers took."""

    epoch: int
    steps: int
    wall_ms: float
    wait_ms: float
    """Both are sums."""


ASIDE = "checkpoint aside"
"""Kind of a checkpoint that another thread writes: it interrupts nothing unless the training waits for it."""


@dataclass(frozen=True)
class PauseSignals:
    """One kind of interruption over the window's time."""

    kind: str
    """checkpoint, validation, gc; or `ASIDE`."""
    count: int
    total_ms: float
    longest_ms: float
    share: float
    """Of the time from the window's first step to its last, interruptions between steps included."""
    every_steps: int | None = None
    """Steps from one to the next, usually; None: fewer than three are known, or they come at no usual
    distance."""
    at: str | None = None
    """file:line of the script's own that did the newest of them."""
    size_mib: float | None = None
    """Of the files of the newest checkpoint."""
    file: str | None = None
    """That they were written to."""
    one_file: bool = False
    """All of them were written to files of that name."""


@dataclass(frozen=True)
class StepPatterns:
    """What single steps tell beyond their means."""

    worker_wait_ms: dict[int, float] = field(default_factory=dict)
    """Mean wait for a batch by the number of the worker that made it; empty without workers."""
    worker_steps: int = 0
    """Steps behind these means."""
    samples: float | None = None
    """Mean samples of a step; None where batches give no size."""
    micro_batches: float = 1.0
    comm_steps: int = 0
    """Steps whose communication was looked at."""
    epochs: tuple[EpochWait, ...] = ()
    """Of the window, the first epochs of a whole run; oldest first."""
    epoch_starts: int = 0
    """Steps of the window that begin an epoch."""
    epoch_start_ms: float | None = None
    """Mean loader wait of these."""
    fifths_ms: tuple[float, ...] = ()
    """Medians of five equal parts of the run so far, oldest first, warm-up left out; empty: too short."""
    cpu_fifths_ms: tuple[float, ...] = ()
    """The same of the CPU time of the training thread; empty too for a run of which old steps are gone."""
    run_steps: int = 0
    """Steps so far."""
    compiling: int = 0
    """Steps of the last so many during which torch.compile compiled, the warm-up among them."""
    compiling_of: int = 0
    compiling_share: float | None = None
    """Share of the wall time of these that the compiling ones took."""
    failed: int = 0
    """Steps of the last so many that raised or were skipped."""
    wait_known: bool = True
    """Some fetch from a DataLoader was seen."""


@dataclass(frozen=True)
class RankSignals:
    """One rank over the window: its last steps, warm-up and unusual ones left out."""

    rank: int
    host: str
    device: str
    window_steps: int
    coverage: float
    """Share of the window's steps whose wait was measured."""
    step_ms: StepStats
    shares: Shares
    cpu_share: float | None = None
    """CPU time of the training thread over wall time."""
    loader: LoaderFacts | None = None
    read_ahead: LoaderFacts | None = None
    """The loader that another thread reads ahead for the training thread, which takes from none itself."""
    settings: dict[str, SettingValue] = field(default_factory=dict)
    epoch_start_wait: float | None = None
    """Share of the window's wall time that is loader wait of the first step of an epoch: starting workers."""
    workers: LoaderWorkers | None = None
    """Its loader workers taken together, mean over about ten seconds."""
    worker_growth: WorkerGrowth | None = None
    """Of one of them; None: there are none, or its memory was not looked at twice."""
    facts: RankFacts = field(default_factory=RankFacts)
    """The newest of each subject."""
    change: FactsChange | None = None
    """How its totals grew over about the last minute (whole run: since the beginning); None: too early."""
    patterns: StepPatterns = field(default_factory=StepPatterns)
    pauses: tuple[PauseSignals, ...] = ()
    """Kinds of interruption that were seen."""
    device_ms: DeviceView | None = None
    """Sampled steps on the device's own timeline; None without a GPU."""
    losses: tuple[tuple[int, float], ...] = ()
    """The newest losses as (step, value), oldest first."""
    report: RankReport | None = None
    """Of the newest profiling window, where it could be read."""
    worker_stacks: tuple[WorkerStacks, ...] = ()
    """Where its loader workers were in that window."""
    workers_unseen: str | None = None
    """Why no worker can be looked into on its host, and what to do; None: nothing is known against it."""
    dropped: int = 0
    """Steps that never reached the hub."""
    hook_share: float | None = None
    """Time of the training thread in the hooks, over the step."""
    world_size: int = 1
    gpu_uuid: str | None = None


@dataclass(frozen=True)
class HostSignals:
    """The host over the last seconds; cores are effective cores (affinity and quota)."""

    name: str
    cpus: float | None = None
    cpu_busy: float | None = None
    """Cores busy, all processes."""
    run_busy: float | None = None
    """Cores busy with this run's processes."""
    pressure_share: float | None = None
    shm_free_mib: float | None = None
    cores: float | None = None
    """Cores of the affinity mask, over which `cpu_busy` counts; a quota may leave `cpus` lower."""
    others_busy: float | None = None
    """This and all below: as in `HostView`."""
    system_busy: float | None = None
    stolen: float | None = None
    throttled_share: float | None = None
    throttled_cores: float | None = None
    pressure_cpu: Pressure | None = None
    pressure_memory: Pressure | None = None
    pressure_io: Pressure | None = None
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    oom_kills: int | None = None
    swap_in_mib_s: float | None = None
    refault_mib_s: float | None = None
    shm_total_mib: float | None = None
    disk_read_mib_s: float | None = None
    disk_read_ms: float | None = None
    disk_busy_share: float | None = None
    network_in_mib_s: float | None = None
    run_read_mib_s: float | None = None
    run_storage_read_mib_s: float | None = None
    cached_read_share: float | None = None
    run_threads: int | None = None
    run_storage_write_mib_s: float | None = None
    online: float | None = None
    """CPUs that the run's control groups leave it; an affinity mask may leave fewer."""
    given: float | None = None
    """CPUs of the mask that the run was started with; `cores` are those of its ranks' masks."""
    gpus_present: int | None = None
    """GPUs that the host has, whether a rank uses them or not."""
    worker_cores: int | None = None
    """CPUs of the affinity mask that every loader worker has, the fewest of them."""


@dataclass(frozen=True)
class Arrival:
    """How a rank stands among ranks that wait for one another, step by step."""

    rank: int
    late_ms: float
    """Mean by which its own work before the exchange takes longer than that of the quickest rank."""
    last_share: float
    """Share of the steps in which it took longest."""
    looks: int = 0
    """Steps in which its wait for the exchange was looked at."""
    wait_error_ms: float | None = None
    """Standard error of the mean of these waits; None: fewer than two."""
    least_share: float | None = None
    """Share of the steps looked at on all ranks in which it waited least, so came last; None: none were."""


@dataclass(frozen=True)
class Arrivals:
    """All ranks over the steps that all of them have done lately."""

    steps: int
    ranks: tuple[Arrival, ...]
    lost_ms: float
    """Mean over the steps of how much longer the last rank took than the mean of all."""
    lost_cpu_ms: float | None = None
    """The same of the training threads' CPU time, in which neither waiting nor others' work counts."""
    most_cpu_share: float | None = None
    """Share of the steps in which the rank that most often takes most CPU time does."""
    cpu_ms: float | None = None
    """Mean CPU time of a training thread in a step."""
    cpu_memory: float | None = None
    """Correlation of a rank's lead in CPU time with its lead in the step before: near 0 where batches decide,
    high where a slow core or a neighbour does, for as long as it lasts. None: too few steps."""
    uneven: float | None = None
    """By how much the largest of the ranks' batches exceeds their mean, over that mean: in tokens where they
    are known, else in samples. Mean over the steps; None: neither is known."""
    looked: int = 0
    """Steps in which the wait for the exchange was looked at on all ranks."""
    exchange_ms: float | None = None
    """Mean over these of the shortest wait: what the exchange itself takes."""


@dataclass(frozen=True)
class RunSignals:
    """Everything at once."""

    ranks: tuple[RankSignals, ...]
    hosts: tuple[HostSignals, ...]
    world_size: int = 1
    gpus: tuple[GpuView, ...] = ()
    """As read while their ranks stepped."""
    arrivals: Arrivals | None = None
    """None for a single rank, or where no steps could be matched."""
    report: TraceReport | None = None
    """Of the newest profiling window."""
    outcome: Outcome | None = None
    """How the training ended; None: it goes on."""
