"""From the newest readings of one GPU, and what it did over time, to what is shown of it. Pure.

A figure older than its rate allows is None: a silent driver's last word is not its present state.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from perftui.ipc.view import GpuProcess, GpuView
from perftui.trainer.telemetry.gpu_over_steps import OverSteps
from perftui.trainer.telemetry.gpu_readings import (
    FAST_FIGURES,
    RARE_FIGURES,
    SLOW_FIGURES,
    THROTTLE_KINDS,
    WORK_FIGURES,
    FastReading,
    RareReading,
    SlowReading,
)

_ENERGY_FIGURES = ("energy_j_per_step", "energy_j_per_sample")
_NO_RATE_YET = "needs two readings"
_NOT_BELIEVED = "the driver's counter falls or leaps"


@dataclass(frozen=True)
class NewestReadings:
    """The newest reading of each rate; None: there was none yet."""

    fast: FastReading | None = None
    slow: SlowReading | None = None
    rare: RareReading | None = None


@dataclass(frozen=True)
class ReadingLimits:
    """How old a reading may be, in seconds, to be shown."""

    fast_s: float
    slow_s: float
    rare_s: float


@dataclass(frozen=True)
class Foreigners:
    """Processes that are not the run's, or why they are not known."""

    processes: list[GpuProcess] | None
    reason: str | None = None


@dataclass(frozen=True)
class SamplerFacts:
    """What is known of the process that reads."""

    backend: str | None = None
    period_s: float | None = None
    sweep_ms: float | None = None
    cpu_share: float | None = None


@dataclass(frozen=True)
class GpuFacts:
    """Whose picture it is, and when it is made."""

    uuid: str
    host: str
    ranks: list[int]
    now_s: float
    since_s: float
    """When it was first asked for."""
    silence: str
    """Why there are no readings, where there are none."""


def gpu_view(
    facts: GpuFacts,
    newest: NewestReadings,
    limits: ReadingLimits,
    work: OverSteps,
    not_believed: set[str],
    foreigners: Foreigners,
    sampler: SamplerFacts,
) -> GpuView:
    """Return one GPU as it stands."""
    values: dict[str, object] = {}
    missing: dict[str, str] = {}
    rates = (
        ("fast", newest.fast, limits.fast_s, FAST_FIGURES),
        ("slow", newest.slow, limits.slow_s, SLOW_FIGURES),
        ("rare", newest.rare, limits.rare_s, RARE_FIGURES),
    )
    ages = {name: facts.now_s - reading.at_s for name, reading, _, _ in rates if reading is not None}
    for name, reading, limit_s, figures in rates:
        if reading is None or ages[name] > limit_s:
            missing.update(dict.fromkeys(figures, facts.silence))
            continue
        values.update(
            {name: value for name in figures if (value := getattr(reading, name, None)) is not None}
        )
        missing.update(reading.missing)
    _add_work(values, missing, work, not_believed)
    _add_foreigners(values, missing, foreigners)
    return msgspec.convert(
        {
            **values,
            "uuid": facts.uuid,
            "host": facts.host,
            "ranks": facts.ranks,
            "age_s": max(0.0, min(ages.values(), default=facts.now_s - facts.since_s)),
            "ages_s": {name: max(0.0, age_s) for name, age_s in ages.items()},
            "window_steps": work.window_steps,
            "window_s": work.window_s,
            "backend": sampler.backend,
            "period_s": sampler.period_s,
            "sweep_ms": sampler.sweep_ms,
            "sampler_cpu_share": sampler.cpu_share,
            "missing": missing,
        },
        GpuView,
    )


def _add_work(
    values: dict[str, object], missing: dict[str, str], work: OverSteps, not_believed: set[str]
) -> None:
    """Add the figures over the window of steps, but none of which the newest reading says it is gone."""
    for name in (*WORK_FIGURES, *_ENERGY_FIGURES):
        if name in missing:
            continue
        if name in work.values:
            values[name] = work.values[name]
        else:
            missing[name] = _why(name, work.missing, not_believed)
    if "throttled_share" in missing:
        return
    shares: dict[str, float] = {}
    for kind in THROTTLE_KINDS:
        name = f"throttled_share.{kind}"
        if kind in work.throttled_share and name not in missing:
            shares[kind] = work.throttled_share[kind]
        else:
            missing.setdefault(name, _why(name, work.missing, not_believed))
    if shares:
        values["throttled_share"] = shares
    else:
        missing["throttled_share"] = missing[f"throttled_share.{THROTTLE_KINDS[0]}"]


def _why(name: str, reasons: Mapping[str, str], not_believed: set[str]) -> str:
    return _NOT_BELIEVED if name in not_believed else reasons.get(name, _NO_RATE_YET)


def _add_foreigners(values: dict[str, object], missing: dict[str, str], foreigners: Foreigners) -> None:
    if "foreign_processes" in missing:
        return
    if foreigners.processes is not None:
        values["foreign_processes"] = foreigners.processes
    else:
        missing["foreign_processes"] = foreigners.reason or "not looked at"
