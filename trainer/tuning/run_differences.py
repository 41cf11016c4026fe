"""In what two recorded runs differ, as far as perftui knows. Pure."""

import shlex
from collections.abc import Iterator, Set
from typing import Literal

import msgspec

from perftui.ipc.errors import UsageError
from perftui.ipc.settings import Settings, format_value, setting
from perftui.trainer.tuning.recorded_run import RecordedRun

EQUAL_WITHIN = 0.01
"""Means of samples or tokens a step that differ by less are the same work."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference; None: not known of that run."""

    name: str
    a: str | None
    b: str | None
    semantics: str | None = None
    """Of a setting: what altering it may do to the training."""


def differences(a: RecordedRun, b: RecordedRun, steps: Set[int]) -> list[Difference]:
    """Return what differs: settings first, then what ran and how much work a step is.

    Args:
        a: one run.
        b: another.
        steps: over which the work is compared.
    """
    found = [*_of_settings(a, b)]
    for name, first, second in (
        ("command", shlex.join(a.description.command), shlex.join(b.description.command)),
        ("commit", a.commit, b.commit),
        ("torch", _version(a, "torch"), _version(b, "torch")),
        ("python", _version(a, "python"), _version(b, "python")),
        ("ranks", str(len(a.ranks)), str(len(b.ranks))),
        ("parameters", _parameters(a), _parameters(b)),
    ):
        if first is not None and second is not None and first != second:  # what is not known does not differ
            found.append(Difference(name=name, a=first, b=second))
    kinds: tuple[Literal["samples", "tokens"], ...] = ("samples", "tokens")
    for what in kinds:
        one, other = a.per_step(what, steps), b.per_step(what, steps)
        if one is not None and other is not None and not same_work(one, other):
            found.append(Difference(name=f"{what} a step", a=f"{one:.4g}", b=f"{other:.4g}"))
    return found


def same_work(a: float, b: float) -> bool:
    """Whether two means of samples or tokens a step are the same."""
    return abs(a - b) <= EQUAL_WITHIN * max(a, b)


def _of_settings(a: RecordedRun, b: RecordedRun) -> Iterator[Difference]:
    """Yield settings that differ; one that has no meaning in a run (None) follows from another."""
    first, second = a.in_force, b.in_force
    asked = {*a.description.settings, *b.description.settings}
    for name in sorted({*first, *second}):
        follows = None in (first.get(name, ""), second.get(name, "")) and name not in asked
        if _value(first, name) != _value(second, name) and not follows:
            yield Difference(
                name=name, a=_value(first, name), b=_value(second, name), semantics=_semantics(name, a, b)
            )


def _value(settings: Settings, name: str) -> str | None:
    return format_value(settings[name]) if name in settings else None


def _semantics(name: str, a: RecordedRun, b: RecordedRun) -> str | None:
    """Return a setting's semantics; None of what is only read back and cannot be set."""
    try:
        return setting(name, {**a.description.arguments, **b.description.arguments}).semantics
    except UsageError:
        return None


def _version(run: RecordedRun, what: str) -> str | None:
    return None if run.lead is None else str(getattr(run.lead.hello, what))


def _parameters(run: RecordedRun) -> str | None:
    model = run.lead.facts.model if run.lead else None
    return None if model is None else f"{model.parameters}"
