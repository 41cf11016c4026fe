"""What the ledger teaches of the noise between launches: by repeats, and by launches that fell short. Pure.

A launch ends early when it is known well enough, which is when it lay within one regime of its host. Where
others of the training ran to their cap and are known to 5 % even so, those that ended early may differ by as
much: what a long launch is not known to, a shorter one is not either.
"""

import math
from collections.abc import Sequence

from perftui.ipc.ledger_records import Comparison, Launch
from perftui.trainer.tuning.enough import SE_CEILING
from perftui.trainer.tuning.noise import noise_for
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.repeats import windows_of

_RECENT_LAUNCHES = 20
"""A choice: a host that has calmed down is believed after two or three searches."""


def known_noise(lines: Sequence[Comparison], command: Sequence[str] | None) -> Noise:
    """Return the launch noise to reckon with for one command on one host.

    Args:
        lines: comparisons of the host.
        command: argv of the training; None: of the host alone.
    """
    own = [line for line in lines if command is not None and line.command == list(command)]
    by_run = {launch.run_id: launch for line in own for launch in line.launches}
    return no_less_than_long_launches(noise_for(windows_of(own), windows_of(lines)), list(by_run.values()))


def no_less_than_long_launches(noise: Noise, launches: Sequence[Launch]) -> Noise:
    """Return noise that is at least what the newest launches are not known to.

    A launch that reached the precision it was after says nothing and counts with zero, one that fell short
    counts with its standard error, noisy ones above all. Below the default of 1 % nothing is raised.

    Args:
        noise: what repeats teach.
        launches: of one training on one host, in any order.
    """
    measured = [each for each in launches if each.se is not None]
    newest = sorted(measured, key=lambda launch: launch.started_unix)[-_RECENT_LAUNCHES:]
    if not newest:
        return noise
    rms = math.sqrt(sum(_fell_short(each) ** 2 for each in newest) / len(newest))
    return Noise(rms, DEFAULT_NOISE.nu0) if rms > max(noise.tau0, DEFAULT_NOISE.tau0) else noise


def _fell_short(launch: Launch) -> float:
    se = launch.se or 0.0
    return se if se > (SE_CEILING if launch.se_wanted is None else launch.se_wanted) else 0.0
