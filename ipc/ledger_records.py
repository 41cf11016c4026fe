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
    step_ms: float | None = None
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
