"""What the past of the run that is to be relaunched teaches of its host. Pure.

A launch ends once it is known well enough, which is when it lay within one regime of its host: it may be
known to half a percent, and the next one lie 40 % from it. The run that goes on has been through those
regimes. Its past is cut into stretches as long as launches, and what these differ by, launches will differ by
too. The first stretch goes: it may be warm-up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perftui.ipc.messages import UNUSUAL_FLAGS
from perftui.ipc.view import RankHistory
from perftui.trainer.tuning.enough import SE_CEILING
from perftui.trainer.tuning.noise import Seen, learned_noise
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.steady import FEWEST_BLOCKS, LaunchEstimate, estimate_launch
from perftui.trainer.tuning.verdict import SE_LIMIT

_LEAST_S = 5.0
"""Of a stretch, as of a launch (`Caps.fewest_seconds`)."""
_MOST_BLOCKS = 60
_NEWEST_S = 600.0
"""What lay longer ago says little of the host as it is."""
_TELL = 6
"""Stretches that tell that a host is steady: half a minute at least."""
_OF_A_WINDOW = 8
"""Stretches over which the run's own drift is taken to be even; as many launches (`repeats.py`)."""


@dataclass(frozen=True)
class Pace:
    """Steps that followed each other, and what each of them took on average."""

    steps: int
    step_s: float


def paces(parts: Sequence[RankHistory], rank: int) -> list[Pace]:
    """Return the usual steps of one rank in order, one by one or as means, as its history has them.

    Args:
        parts: history of a run, in order.
        rank: whose.
    """
    return [
        Pace(part.stride, wall_ms / 1000)
        for part in parts
        if part.rank == rank
        for wall_ms, flags in zip(part.wall_ms, part.flags, strict=True)
        if wall_ms > 0 and not flags & UNUSUAL_FLAGS
    ]


def noise_with_past(noise: Noise, past: Sequence[Pace], block: int) -> Noise:
    """Return the launch noise to reckon with: no less than what stretches of the run differ by.

    Enough stretches that do not differ show a steady host.

    Args:
        noise: what the ledger teaches.
        past: of the run, oldest first.
        block: steps of a block (`steady.block_length`).
    """
    stretches = _stretches(_newest(past), block)
    seen = [Seen("", each.log_step_s, each.se) for each in islice(stretches, 1, None)]
    windows = [seen[begin : begin + _OF_A_WINDOW] for begin in range(0, len(seen), _OF_A_WINDOW)]
    of_past = learned_noise(windows)
    if of_past.tau0 > max(noise.tau0, DEFAULT_NOISE.tau0):
        return Noise(of_past.tau0, DEFAULT_NOISE.nu0, noise.foreign_cores)
    return replace(noise, steady_past=len(seen) >= _TELL)


def _newest(past: Sequence[Pace]) -> list[Pace]:
    """Return the paces of the newest ten minutes."""
    taken_s, begin = 0.0, len(past)
    while begin and taken_s < _NEWEST_S:
        begin -= 1
        taken_s += past[begin].steps * past[begin].step_s
    return list(past[begin:])


def _blocks(past: Sequence[Pace], block: int) -> list[Pace]:
    """Put neighbouring paces together until each has the steps of a block; what is left over is not used."""
    found: list[Pace] = []
    steps, taken_s = 0, 0.0
    for each in past:
        steps += each.steps
        taken_s += each.steps * each.step_s
        if steps >= block:
            found.append(Pace(steps, taken_s / steps))
            steps, taken_s = 0, 0.0
    return found


def _stretches(past: Sequence[Pace], block: int) -> Iterator[LaunchEstimate]:
    """Yield what a launch would have said in each stretch; one that stays too noisy says nothing."""
    blocks: list[Pace] = []
    for each in _blocks(past, block):
        blocks.append(each)
        if len(blocks) < FEWEST_BLOCKS or sum(one.steps * one.step_s for one in blocks) < _LEAST_S:
            continue
        estimate = estimate_launch([one.step_s for one in blocks], 1)
        if estimate.se <= SE_CEILING or len(blocks) == _MOST_BLOCKS:
            blocks = []
            if estimate.se <= SE_LIMIT:
                yield estimate
