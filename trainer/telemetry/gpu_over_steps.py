"""The work of a GPU joined to the steps that it worked on. Pure: series and steps in, figures out.

A figure over a window of steps is the sum over the spans of time that those steps took, from begin to end of
each, by linear interpolation in the cumulative series; borders between two readings are thus taken to have
their part of what came between them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from perftui.trainer.telemetry.cumulative_series import CumulativeSeries
from perftui.trainer.telemetry.gpu_series import GpuSeries

ENERGY_LEAST_S = 2.0
"""The energy counter is refreshed every 20 to 100 ms and read about once a second: over less time than this
its figure would be mostly rounding."""
_RECENT_S = 10.0
_TOGETHER_S = 0.1
_SEEN_LEAST = 0.9
"""Share of the steps' time that must have been seen for a figure about them."""
_INEXACT_S = 0.5
"""A counter of time may be ahead of ours by this much: the moments of its readings are not exact."""


@dataclass(frozen=True)
class StepWindow:
    """Steps that follow each other, on the clock of the readings (`time.monotonic()`)."""

    steps: int
    spans: tuple[tuple[float, float], ...]
    """Begin and end of each stretch without a step that does not count."""
    samples_per_s: float | None
    """Of all ranks on this GPU; None where a batch does not tell its size."""

    @property
    def seconds(self) -> float:
        """Their time in all."""
        return sum(end_s - begin_s for begin_s, end_s in self.spans)


StepsUntil: TypeAlias = Callable[[float], StepWindow | None]
"""Gives the newest steps that had ended by a moment; None when none counts."""


@dataclass(frozen=True)
class OverSteps:
    """Figures over a window; what is not there has its reason in `missing`."""

    window_steps: int
    window_s: float | None
    values: dict[str, float] = field(default_factory=dict[str, float])
    throttled_share: dict[str, float] = field(default_factory=dict[str, float])
    missing: dict[str, str] = field(default_factory=dict[str, str])


def over_steps(series: GpuSeries, steps_until: StepsUntil | None) -> OverSteps:
    """Return the figures of work over the newest steps; over the newest seconds where there are none."""
    fast = [*series.work.values(), *series.throttled_s.values()]
    windows = _Windows(steps_until, [one.last_s for one in fast if one.last_s is not None])
    values: dict[str, float] = {}
    missing: dict[str, str] = {}
    for name, work in series.work.items():
        mean = windows.mean(work)
        if isinstance(mean, float):
            values[name] = mean
        elif mean is not None:
            missing[name] = mean
    throttled: dict[str, float] = {}
    for kind, held in series.throttled_s.items():
        share = windows.mean(held, most=1.0)
        if isinstance(share, float):
            throttled[kind] = share
        elif share is not None:
            missing[f"throttled_share.{kind}"] = share
    energy, reason = windows.energy(series.energy_j)
    if energy is not None:
        values["energy_j_per_step"] = energy[0]
        if energy[1] is not None:
            values["energy_j_per_sample"] = energy[1]
        else:
            missing["energy_j_per_sample"] = "the batch does not tell its size"
    elif reason is not None:
        missing.update(dict.fromkeys(("energy_j_per_step", "energy_j_per_sample"), reason))
    widest = windows.widest
    return OverSteps(widest.steps, widest.seconds or None, values, throttled, missing)


class _Windows:
    """The window that suits each series: it ends where the series does.

    Series that are read at about the same time share one, which ends with the first of them.
    """

    def __init__(self, steps_until: StepsUntil | None, together_s: list[float]) -> None:
        self._steps_until = steps_until
        newest_s = max(together_s, default=0.0)
        self._together_s = min((at_s for at_s in together_s if newest_s - at_s < _TOGETHER_S), default=0.0)
        self._known: dict[float, StepWindow] = {}

    @property
    def widest(self) -> StepWindow:
        """The window with the most steps of those that were used."""
        empty = StepWindow(0, (), None)
        return max(self._known.values(), key=lambda window: (window.steps, window.seconds), default=empty)

    def _window(self, until_s: float) -> StepWindow:
        if 0 <= until_s - self._together_s < _TOGETHER_S:
            until_s = self._together_s
        if until_s not in self._known:
            steps = self._steps_until(until_s) if self._steps_until is not None else None
            recent = StepWindow(0, ((until_s - _RECENT_S, until_s),), None)
            self._known[until_s] = steps or recent
        return self._known[until_s]

    def mean(self, series: CumulativeSeries, most: float | None = None) -> float | str | None:
        """Return the mean a second, or why there is none; None where the series is empty.

        Args:
            series: what is looked at.
            most: what the mean cannot exceed.
        """
        if series.last_s is None:
            return None
        window = self._window(series.last_s)
        amount, seen_s = _sum_over(series, window)
        if seen_s <= 0:
            return "needs two readings"
        if window.steps and seen_s < _SEEN_LEAST * window.seconds:
            return f"read over only {seen_s / window.seconds:.0%} of the time of these steps"
        if most is None or amount <= most * seen_s:
            return amount / seen_s
        if amount > most * (seen_s + _INEXACT_S):
            return "the counter runs faster than time"
        return most

    def energy(self, series: CumulativeSeries) -> tuple[tuple[float, float | None] | None, str | None]:
        """Return joules a step and a sample, or why there are none."""
        if series.last_s is None:
            return None, None
        window = self._window(series.last_s)
        if not window.steps:
            return None, "no step to set it against"
        if window.seconds < ENERGY_LEAST_S:
            return None, f"needs {ENERGY_LEAST_S:g} s of steps"
        power_w = self.mean(series)
        if not isinstance(power_w, float):
            return None, power_w
        a_sample = None if not window.samples_per_s else power_w / window.samples_per_s
        return (power_w * window.seconds / window.steps, a_sample), None


def _sum_over(series: CumulativeSeries, window: StepWindow) -> tuple[float, float]:
    parts = [series.between(begin_s, end_s) for begin_s, end_s in window.spans]
    return sum(amount for amount, _ in parts), sum(seen_s for _, seen_s in parts)
