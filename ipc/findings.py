"""What the diagnosis says: a cause with its evidence and, where there is one, a remedy."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.settings import Semantics, SettingValue

Severity: TypeAlias = Literal["info", "warning", "critical"]
ShareOf: TypeAlias = Literal["step", "time"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One number behind a finding."""

    name: str
    value: float
    unit: str
    window_steps: int
    """Steps that it was taken over; 0 for what is not taken over steps."""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: settings to alter, or advice in words, or both."""

    set: dict[str, SettingValue] = {}
    bound: float | None = None
    """Largest possible speed-up as a factor: 1/(1 - share)."""
    expected: float | None = None
    """Expected speed-up as a factor."""
    semantics: Semantics = "neutral"
    advice: str | None = None
    at: str | None = None
    """file:line where the time goes: of a stack, else of the dataset's method that makes the samples."""
    made_at: str | None = None
    """file:line of the DataLoader that it is about: there its arguments are altered."""
    caution: str | None = None
    """What speaks against it."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. The first of a list is what the user should deal with first."""

    code: str
    severity: Severity
    share: float
    """What it costs (0-1)."""
    sentence: str
    rank: int | None = None
    host: str | None = None
    evidence: list[Evidence] = []
    coverage: float = 1.0
    """Share of the window's steps for which the signals were measured."""
    remedy: Remedy | None = None
    unsure: str | None = None
    """What would settle it, when the signals at hand do not."""
    under: str | None = None
    """Code of the finding that this one follows from: deal with that first."""
    first_step: int | None = None
    """Steps that were done when it was first shown; None: not shown while the run went on."""
    first_s: float | None = None
    """Seconds from the run's start to then."""
    share_of: ShareOf = "step"
    """Of what the share is: of the steps, or of all time, with validations and checkpoints between them."""


class Appearance(msgspec.Struct, frozen=True, kw_only=True):
    """The first time that a finding was shown."""

    code: str
    rank: int | None
    host: str | None
    step: int
    """Steps that every rank had done."""
    unix: float


class Unjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement that could not be made, and what would make it possible."""

    code: str
    reason: str
    settled_by: str
    rank: int | None = None


def nested(findings: Sequence[Finding]) -> list[tuple[int, Finding]]:
    """Return (depth, finding), each that follows from another right after that one; else in the order given.

    Where several findings have the code of the cause, the one of the same rank is it, else the first.
    """
    below: dict[int, list[int]] = {}
    tops: list[int] = []
    for at, finding in enumerate(findings):
        cause = _cause(findings, at) if finding.under is not None else None
        (tops if cause is None else below.setdefault(cause, [])).append(at)
    return [
        (depth, findings[at])
        for top in tops
        for depth, at in ((0, top), *((1, follower) for follower in below.get(top, ())))
    ]


def _cause(findings: Sequence[Finding], of: int) -> int | None:
    """Return the place of the cause; None where it is not there, or follows from something itself."""
    finding = findings[of]
    known = [at for at, each in enumerate(findings) if each.code == finding.under and each.under is None]
    same = [at for at in known if findings[at].rank == finding.rank]
    return next(iter([*same, *known]), None)
