"""What a search for faster settings keeps in the ledger: its plan, then one entry for each thing done.

The state of a search is what its entries say, folded in order; nothing else is kept. So whatever ends it, the
next start knows as much as the last one did.
"""

from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.facts import RankFacts
from perftui.ipc.findings import Finding
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.settings import Semantics, SettingValue

SEARCH_ID_PREFIX = "tune-"
StopReason: TypeAlias = Literal[
    "nothing_left", "most_trials", "out_of_time", "too_noisy", "contended", "baseline_failed", "interrupted"
]
Purpose: TypeAlias = Literal["trial", "final"]


class SearchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for, as it was asked at first."""

    search_id: str
    unix: float
    host: str
    name: str
    command: list[str]
    cwd: str
    baseline: dict[str, SettingValue] = {}
    """Settings that the training has to begin with, over the script's own."""
    arguments: dict[str, ArgumentTemplate] = {}
    interpreter: str | None = None
    gpu_readings: bool = True
    gpu_interval_s: float | None = None
    seed: int = 0
    commit: str | None = None
    dirty: bool | None = None
    versions: dict[str, str] = {}


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One change that may bring something, and why it is thought so."""

    set: dict[str, SettingValue]
    code: str
    """Of the finding that it answers."""
    semantics: Semantics = "neutral"
    bound: float | None = None
    """Largest possible speed-up as a factor; None: not known."""
    expected: float | None = None


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of the training while a launch was measured."""

    findings: list[Finding] = []
    device: str | None = None
    facts: RankFacts = RankFacts()
    in_force: dict[str, SettingValue] = {}
    """Read back from live objects."""
    ranks: int = 1
    wait_share: float | None = None
    """Of the step, of the rank that waits most for its loader."""
    memory_free_mib: float | None = None
    shm_free_mib: float | None = None


class Sitting(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sitting"):
    """The search was started, or taken up again."""

    unix: float
    boot_id: str
    allow: Semantics
    most_trials: int
    most_minutes: float | None = None
    commit: str | None = None
    dirty: bool | None = None
    versions: dict[str, str] = {}
    code: str = ""
    """Hash of the script, of what differs from the commit, and of the interpreter; empty: not told."""
    devices: str = ""
    """Which GPUs the environment lets the training see; empty: it does not say."""


class Measured(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="measured"):
    """One launch; the first one alone, all others of the comparison that was begun."""

    launch: Launch
    unix: float
    """When it had ended."""
    wall_s: float
    """From its start until the next thing could be done."""
    picture: Picture | None = None
    losses: dict[int, float | None] = {}
    """By step; None: not finite."""
    steps_s: list[float] = []


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="begun"):
    """A change is to be compared with the best so far; `final`: the best with the original."""

    comparison_id: str
    purpose: Purpose
    proposal: Proposal


class Judged(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="judged"):
    """The comparison that was begun has come to its end."""

    verdict: Verdict
    kept: bool
    """The change is in force from here on."""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ended"):
    """The search has stopped; it may be taken up again."""

    reason: StopReason
    sentence: str


SearchEntry: TypeAlias = Sitting | Measured | Begun | Judged | Ended
