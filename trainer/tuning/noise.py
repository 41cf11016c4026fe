"""How much launches of one setting differ on this host, learned from the ledger's repeats. Pure."""

import math
from collections.abc import Sequence

from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise

_ENOUGH_DF = 8
_CAUTION = 1.3
"""Repeats within one comparison lie close in time; the walk of the host between launches adds to them."""
_FLOOR = 0.005
_LEARNED_DF = 8.0


def learned_noise(repeats: Sequence[Sequence[float]]) -> Noise:
    """Estimate launch noise from groups of repeats.

    Args:
        repeats: per group the `log_step_s` of launches of one setting in one comparison.

    Returns:
        From eight degrees of freedom on, 1.3 times their pooled standard deviation, at least 0.5 %. With
        fewer, the default of 1 %, raised when what was seen is above it: a prior that is too low gives false
        verdicts, one that is too high only costs launches.
    """
    groups = [group for group in repeats if len(group) > 1]
    df = sum(len(group) - 1 for group in groups)
    if df == 0:
        return DEFAULT_NOISE
    seen = _CAUTION * math.sqrt(sum(_squares(group) for group in groups) / df)
    if df >= _ENOUGH_DF:
        return Noise(max(seen, _FLOOR), _LEARNED_DF)
    nu0, tau0 = DEFAULT_NOISE.nu0, DEFAULT_NOISE.tau0
    blended = math.sqrt((nu0 * tau0**2 + df * seen**2) / (nu0 + df))
    return Noise(max(tau0, blended), nu0)


def noise_for(of_setting: Sequence[Sequence[float]], of_host: Sequence[Sequence[float]]) -> Noise:
    """Estimate launch noise for one command and its settings on one host.

    Args:
        of_setting: repeats of this very command and setting on this host.
        of_host: repeats of all that was ever measured there, those of the setting among them.

    Returns:
        What the setting's own repeats say once there are enough of them. Before that what the host's say, and
        never less than the few of the setting do: a training with a random loader differs more than others.
    """
    own = learned_noise(of_setting)
    if is_learned(own):
        return own
    common = learned_noise(of_host)
    return common if common.tau0 >= own.tau0 or not of_setting else own


def is_learned(noise: Noise) -> bool:
    """Whether the host's own repeats say it, and not the default."""
    return noise.nu0 >= _LEARNED_DF


def _squares(group: Sequence[float]) -> float:
    centre = sum(group) / len(group)
    return sum((value - centre) ** 2 for value in group)
