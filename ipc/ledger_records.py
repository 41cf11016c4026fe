"""Launches and verdicts as the ledger keeps them and the screen shows them."""

from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.settings import SettingValue

VerdictWord: TypeAlias = Literal[
    "faster",
    "slower",
    "same",
    "inconclusive",
    "too_noisy",
    "repeats_disagree",
    "provisional",
    "failed",
    "unchanged",
]
Outcome: TypeAlias = Literal[
    "running", "finished", "stopped", "oom_gpu", "oom_host", "died_at_start", "failed", "hung", "lost"
]
EndedBy: TypeAlias = Literal["known", "limit", "lost", "itself"]

BROKEN = frozenset[Outcome]({"oom_gpu", "oom_host", "died_at_start", "failed", "hung", "lost"})
"""Outcomes of a launch that broke down by itself: whatever it measured, it cannot be kept."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch ran under: means from its first step on, over all GPUs; None: not measured."""

    sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    """Of the hottest GPU, the highest reading."""
    utilisation_share: float | None = None
    """Share of time with at least one kernel running."""
    throttled_share: dict[str, float] = {}
    """Share of time with clocks held down, by kind, of the GPU where it was most."""
    foreign_processes: float | None = None
    """Processes of others on a GPU, of the one with the most."""
    energy_j_per_step: float | None = None
    """Sum over the GPUs."""
    gpu_memory_mib: float | None = None
    """The most that the allocator of one rank reserved; where it does not tell, the most in use on a GPU."""
    busy_cores: float | None = None
    """Cores busy on this host, of those that the run may use, with all processes."""
    pressure_share: float | None = None
    """Share of time in which some task of the host waited for a CPU."""
    host_memory_mib: float | None = None
    """The most in use on the host, or in its control group."""
    storage_mib_per_step: float | None = None
    """Read from storage by the run's processes on the first host; what the page cache gives is not in it."""
    compile_s: float | None = None
    """Time in torch.compile, of the rank that took longest."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the training, measured."""

    run_id: str
    label: Literal["A", "B"]
    settings: dict[str, SettingValue]
    outcome: Outcome
    steps: int = 0
    """Steady steps measured."""
    warm_steps: int = 0
    log_step_s: float | None = None
    """x of procedure P: trimmed mean of log block means of seconds per step."""
    se: float | None = None
    df: float | None = None
    se_wanted: float | None = None
    """The standard error that would have been enough; None: not told."""
    step_ms: float | None = None
    """Plain mean over the steady steps: every stall is in it."""
    epoch_starts: int | None = None
    """Steady steps with which an epoch began; None: not told."""
    samples_per_s: float | None = None
    startup_s: float | None = None
    """From the launch to the first finished step."""
    loss: float | None = None
    host: str = ""
    gpu_uuids: list[str] = []
    effective: dict[str, SettingValue] = {}
    """Read back from live objects."""
    load_1m: float | None = None
    note: str | None = None
    started_unix: float = 0.0
    settled: bool = True
    """False when the step time still changed at the end of the measurement."""
    foreign_cores: float | None = None
    """Cores busy with other people's work, mean over the measurement; None when not measured."""
    samples_per_step: float | None = None
    """Over all ranks; None where a rank does not know its own."""
    tokens_per_step: float | None = None
    """Over all ranks, padding too; None where batches hold none, or a rank does not know."""
    circumstances: Circumstances = Circumstances()
    wall_s: float | None = None
    """From the launch to the end of its measurement, start and warm-up included."""
    ended_by: EndedBy | None = None
    """What ended the measurement: `known` well enough; its `limit` of steps or time; `lost`: no verdict could
    come of it any more; `itself`: the training ended. None: it was given up, or not told."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether B beats A. `gain`, `lo` and `hi` are fractions of speed: 0.05 = 5 % more steps per second."""

    verdict: VerdictWord
    sentence: str
    gain: float | None = None
    lo: float | None = None
    hi: float | None = None
    launches: int = 0
    steps: int = 0
    confidence: float = 0.98
    loss: str | None = None
    """How the losses of A and B compare, in words, where they were compared."""
    loss_agrees: bool | None = None
    """Whether they agree within what launches of one setting differ by; None: not to be told."""
    per: Literal["step", "sample"] = "step"
    """What the speeds are of: samples where a step of A and one of B hold different numbers of them."""
    memory_change_mib: float | None = None
    """By how much B's peak of GPU memory is above A's; None without a GPU."""
    energy_change: float | None = None
    """By what fraction B takes more energy than A, per step or sample; None where it was not measured."""
    payback_steps: int | None = None
    """After how many steps B's longer start is made up for; None: it is not longer, or B is not faster."""
    notes: list[str] = []
    """Memory, energy and payback in words, and circumstances that differed."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the ledger: a change, how it was measured, what came out."""

    comparison_id: str
    unix: float
    name: str
    host: str
    command: list[str]
    before: dict[str, SettingValue]
    set: dict[str, SettingValue]
    semantics: str
    bound: float | None
    expected: float | None
    launches: list[Launch]
    verdict: Verdict
    finding: str | None = None
    """Code of the finding that proposed it."""
    commit: str | None = None
    dirty: bool | None = None
    versions: dict[str, str] = {}
    parent: str | None = None
    successor: str | None = None
