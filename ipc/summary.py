"""The summary JSON of a run: a contract with scripts; fields may be added, never renamed."""

from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.facts import RankFacts
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import (
    DeviceView,
    GpuView,
    HostView,
    LoaderWorkers,
    ProfileView,
    Shares,
    StepStats,
)

SUMMARY_SCHEMA = 1
NotFinite: TypeAlias = Literal["nan", "inf", "-inf"]


class DeviceTime(msgspec.Struct, frozen=True, kw_only=True):
    """Per step, on the device's own timeline."""

    busy: float | None = None
    """What the stream did not provably idle: an upper bound; a profile window tells more."""
    idle: float | None = None
    """Waiting for the loader with nothing to do: a lower bound; None where no fetch is seen."""
    parts: DeviceView | None = None


class RankSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One rank over the whole run; statistics leave out warm-up and unusual steps."""

    rank: int
    host: str
    device: str
    gpu_uuid: str | None
    steps: int
    step_ms: StepStats | None
    steps_per_s: float | None
    samples_per_s: float | None
    boundary: str
    loss: float | None
    shares: Shares
    device_ms: DeviceTime = DeviceTime()
    dropped: int = 0
    settings: dict[str, SettingValue] = {}
    settings_failed: dict[str, str] = {}
    probe_errors: int = 0
    window_steps: int = 0
    workers: LoaderWorkers | None = None
    """Its loader workers taken together, mean over the training."""
    facts: RankFacts = RankFacts()
    """What the rank told beside its steps: the newest of each subject."""
    phases_s: dict[str, float] | None = None
    """What its time went to, by phase; they sum to `elapsed_s`. None: it has told none."""
    tokens_per_s: float | None = None
    """Padding too; None: its batches hold no tokens."""
    python: str | None = None
    torch: str | None = None
    """Versions, as its process told them."""
    lost_frames: int = 0
    """Frames of the rank that never came to the hub: steps, facts or marks are missing."""
    loss_not_finite: NotFinite | None = None
    """What `loss` is where JSON has no number for it, and says null there."""


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """What perftui costs the training, mean over all ranks; None where nothing was measured yet."""

    us_per_step: float | None = None
    """Time of the training thread in perftui's hooks, by single stamps, without the calls into them."""
    share: float | None = None
    """The same over the step's wall time."""
    background_us_per_step: float | None = None
    """CPU time of the probe's own thread, which runs beside the training thread."""
    shadow_steps: int = 0
    """Steps through which the hooks slept, to be compared with their neighbours: the newest of each rank."""
    shadow_us: float | None = None
    """What steps with the hooks awake take more, in wall time: the median."""
    shadow_se_us: float | None = None
    """Its standard error."""
    shadow_cpu_us: float | None = None
    """The same in CPU time of the training thread."""
    shadow_cpu_se_us: float | None = None


class PastAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended with its ranks being started again: `torchrun --max-restarts`, say."""

    attempt: int
    """Counts from 1."""
    steps: int
    """That every rank had done."""
    began_unix: float
    ended_unix: float
    """When its ranks were last heard."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    schema: int = SUMMARY_SCHEMA
    run_id: str
    name: str
    command: list[str]
    state: str
    exit_code: int | None
    stopped_by: str | None
    elapsed_s: float
    settings: dict[str, SettingValue]
    ranks: list[RankSummary]
    gpus: list[GpuView]
    host: HostView
    """The newest reading: after the end one of a host at rest."""
    findings: list[Finding]
    profiles: list[ProfileView]
    overhead: Overhead
    verdict: Verdict | None = None
    message: str | None = None
    recording_failed_entries: int = 0
    host_mean: HostView | None = None
    """The mean of all readings made while the run trained, without single workers."""
    unjudged: list[Unjudged] = []
    """What could not be judged, and what would settle it."""
    started_unix: float | None = None
    """When it was launched."""
    perftui: str | None = None
    """Version of perftui that watched it."""
    attempts: list[PastAttempt] = []
    """Those before the last one, oldest first; `ranks` and `findings` are of the last."""
    hosts: list[HostView] = []
    """Of a run over several hosts, all of them, the lead first; else empty."""
    links: list[HostLink] = []
    """How those hosts were linked at the end."""
