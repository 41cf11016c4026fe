"""How much launches of one setting differ on this host, learned from what the ledger holds. Pure.

The noise is what is left of launches that ran one after the other once each setting has a level of its own
and the host may drift from launch to launch: procedure P allows for a drift by itself, and for how well each
launch is known. Counted as noise a second time, either would hide real gains.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise

_ENOUGH_DF = 8
_CAUTION = 1.3
"""Launches of one comparison lie close in time; the walk of the host between launches adds to them."""
_FLOOR = 0.005
_LEARNED_DF = 8.0
_UNTOLD = 3
"""With so many launches and a drift between them nothing is left over that would tell their noise."""
_UNSEEN_SD, _UNSEEN_TIMES = 0.10, 5.0
"""Identical launches on hosts that nobody knew differed by 6 and 11 %, beside neighbours by 21 %
(`benchmarks/results/verdict_aa_lanes_h200_host_2026-12-01.json`), and on a virtual machine with nobody else's
work to be seen by 44 %, each known to 0.6 % (`verdict_aa_restless_2026-12-01.json`). None of these pass: two
launches take a gain of 70 %, beside others of 2.2 times."""
_WITHOUT_REPEATS, _STEADY_TIMES = 2, 3.0
"""Where the past of the run shows a steady host, two launches take 18 %."""


@dataclass(frozen=True)
class Seen:
    """One launch of a window: launches that ran one after the other."""

    setting: str
    """Which settings it had; launches of one word are repeats."""
    log_step_s: float
    se: float
    foreign_cores: float = 0.0
    """Busy with other work meanwhile; 0 where that was not measured."""


@dataclass(frozen=True)
class _Sums:
    """Of windows: squares of residuals, their degrees of freedom, squares that standard errors explain."""

    squares: float = 0.0
    df: int = 0
    known: float = 0.0


def learned_noise(windows: Sequence[Sequence[Seen]]) -> Noise:
    """Estimate launch noise from windows of launches in wall order.

    Returns:
        From eight degrees of freedom on, 1.3 times their pooled standard deviation, at least 0.5 %. With
        fewer, the default of 1 %, raised when what was seen is above it: a prior that is too low gives false
        verdicts, one that is too high only costs launches.
    """
    sums = [_residuals(window) for window in windows]
    df = sum(each.df for each in sums)
    if df == 0:
        return DEFAULT_NOISE
    left = max(0.0, sum(each.squares - each.known for each in sums))
    seen = _CAUTION * math.sqrt(left / df)
    if df >= _ENOUGH_DF:
        return Noise(max(seen, _FLOOR), _LEARNED_DF, _usual_foreign_cores(windows))
    nu0, tau0 = DEFAULT_NOISE.nu0, DEFAULT_NOISE.tau0
    blended = math.sqrt((nu0 * tau0**2 + df * seen**2) / (nu0 + df))
    return Noise(max(tau0, blended), nu0)


def _usual_foreign_cores(windows: Sequence[Sequence[Seen]]) -> float:
    """Return the load of others that half of the launches which teach had at least."""
    cores = sorted(each.foreign_cores for window in windows if _residuals(window).df for each in window)
    return cores[(len(cores) - 1) // 2]


def noise_for(of_training: Sequence[Sequence[Seen]], of_host: Sequence[Sequence[Seen]]) -> Noise:
    """Estimate launch noise for one command on one host.

    Args:
        of_training: windows of this very command on this host.
        of_host: windows of all that was ever measured there, those of the command among them.

    Returns:
        What the command's own launches say once there are enough of them. Before that what the host's say,
        and never less than the few of the command do: a training of random lengths differs more than others.
    """
    own = learned_noise(of_training)
    if is_learned(own):
        return own
    common = learned_noise(of_host)
    few_of_its_own = any(_residuals(window).df for window in of_training)
    return own if few_of_its_own and own.tau0 > common.tau0 else common


def is_learned(noise: Noise) -> bool:
    """Whether the host's own repeats say it, and not the default."""
    return noise.nu0 >= _LEARNED_DF


def before_repeats(noise: Noise, launches: int, usual_sd: float = DEFAULT_NOISE.tau0) -> Noise:
    """Return the noise to reckon with after so many launches: more until they tell it themselves.

    Where nothing was learned, nobody has seen yet what launches differ by here. A change that nearly halves
    the step shows all the same, so the changes most worth having take two launches still.

    Args:
        noise: what is known of the host.
        launches: of the comparison so far.
        usual_sd: between launches on hosts of this kind, in log units.
    """
    if is_untold(noise, launches):
        return replace(noise, tau0=max(noise.tau0, _UNSEEN_SD, _UNSEEN_TIMES * usual_sd))
    if noise.steady_past and not is_learned(noise) and launches <= _WITHOUT_REPEATS:
        return replace(noise, tau0=max(noise.tau0, _STEADY_TIMES * usual_sd))
    return noise


def is_untold(noise: Noise, launches: int) -> bool:
    """Whether neither what is known of the host nor so many launches tell what launches differ by here."""
    return not is_learned(noise) and not noise.steady_past and launches <= _UNTOLD


def _residuals(window: Sequence[Seen]) -> _Sums:
    """Return what a level for each setting and a common drift from launch to launch leave."""
    levels = len({each.setting for each in window})
    df = len(window) - levels - 1
    if df < 1:
        return _Sums()
    values = _without_levels(window, [each.log_step_s for each in window])
    places = _without_levels(window, [float(place) for place in range(len(window))])
    drift = sum(p * v for p, v in zip(places, values, strict=True)) / sum(p * p for p in places)
    squares = sum((v - drift * p) ** 2 for p, v in zip(places, values, strict=True))
    return _Sums(squares, df, df * sum(each.se**2 for each in window) / len(window))


def _without_levels(window: Sequence[Seen], values: Sequence[float]) -> list[float]:
    """Return values less the mean of their setting."""
    means: dict[str, float] = {}
    for setting in {each.setting for each in window}:
        own = [value for each, value in zip(window, values, strict=True) if each.setting == setting]
        means[setting] = sum(own) / len(own)
    return [value - means[each.setting] for each, value in zip(window, values, strict=True)]
