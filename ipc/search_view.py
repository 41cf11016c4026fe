"""A search for faster settings as a screen shows it: baseline, trials, what goes on now, the answer."""

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.search_records import Purpose, StopReason
from perftui.ipc.settings import Semantics, SettingValue
from perftui.ipc.view import LaunchProgress


class SearchTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One change, judged or being measured; or the original against the result."""

    comparison_id: str
    purpose: Purpose
    set: dict[str, SettingValue]
    before: dict[str, SettingValue]
    """What it changes, as it was in force before."""
    finding: str
    """Code of the finding that it answers."""
    semantics: Semantics
    bound: float | None = None
    """Largest possible speed-up as a factor; None: not known."""
    expected: float | None = None
    launches: list[Launch] = []
    verdict: Verdict | None = None
    """None: still being measured."""
    kept: bool = False
    step_ms: float | None = None
    """With the change; None: not measured."""


class SearchAside(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was not measured."""

    set: dict[str, SettingValue]
    finding: str
    semantics: Semantics
    bound: float | None = None
    expected: float | None = None
    reason: str
    waits: bool = False
    """It may still be tried, in this order."""


class SearchProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The launch that goes on, as the process that searches last told: a file of its own, gone at its end."""

    search_id: str
    pid: int
    started_ticks: int
    """Start time of that process, which tells it from a later one of the same pid."""
    launch: LaunchProgress | None = None


class SearchView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one search."""

    search_id: str
    unix: float
    """When it was begun."""
    name: str
    host: str
    command: list[str]
    allow: Semantics
    most_trials: int
    most_launches: int
    most_minutes: float | None = None
    goes_on: bool
    """A process is searching now."""
    baseline: list[Launch] = []
    """Launches of the original outside any comparison."""
    step_ms: float | None = None
    """Of the original."""
    samples_per_s: float | None = None
    trials: list[SearchTrial] = []
    """Judged, in order."""
    now: SearchTrial | None = None
    """The comparison that was begun and is not judged."""
    launch: LaunchProgress | None = None
    """The launch that goes on."""
    aside: list[SearchAside] = []
    final: SearchTrial | None = None
    """The original against the result."""
    reason: StopReason | None = None
    """Why it stopped; None: it has not, or was broken off."""
    sentence: str = ""
    """The answer."""
    changed: dict[str, SettingValue] = {}
    """What the best configuration so far has that the original has not."""
    run: list[str] = []
    """Words that run it."""
    write: list[str] = []
    """What the script's owner would write instead."""
