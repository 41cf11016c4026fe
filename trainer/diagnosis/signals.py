"""What the rules may look at: one frozen window of measured signals. `None` means never measured."""

from dataclasses import dataclass, field

from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import Shares, StepStats


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


@dataclass(frozen=True)
class RunSignals:
    """Everything at once."""

    ranks: tuple[RankSignals, ...]
    hosts: tuple[HostSignals, ...]
    world_size: int = 1
