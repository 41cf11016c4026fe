"""What the rules may look at: one frozen window of measured signals. `None` means never measured."""

from dataclasses import dataclass, field

from perftui.ipc.facts import RankFacts
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import LoaderWorkers, Pressure, Shares, StepStats


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
    settings: dict[str, SettingValue] = field(default_factory=dict)
    epoch_start_wait: float | None = None
    """Share of the window's wall time that is loader wait of the first step of an epoch: starting workers."""
    workers: LoaderWorkers | None = None
    """Its loader workers taken together, mean over about ten seconds."""
    facts: RankFacts = field(default_factory=RankFacts)
    """The newest of each subject."""
    change: FactsChange | None = None
    """How its totals grew over about the last minute (whole run: since the beginning); None: too early."""


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


@dataclass(frozen=True)
class RunSignals:
    """Everything at once."""

    ranks: tuple[RankSignals, ...]
    hosts: tuple[HostSignals, ...]
    world_size: int = 1
