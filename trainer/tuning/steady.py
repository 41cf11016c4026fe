"""From the step times of one launch to one number with its standard error.

Block means, not medians of steps: with W loader workers the stall comes at every W-th step, and a median
hides it. Stalls are part of what the user pays, so only the warm-up is dropped. All functions are pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FEWEST_BLOCKS = 6
_BLOCK_STEPS = 10
_TRIMMED_SHARE = 0.2
_MOST_CORRELATION = 0.7
_MOST_DF_INFLATION = 3.0
_MAD_TO_SD = 1.4826
_LEAST_TOLERANCE = 0.02
_MISSES_THAT_END = 2


@dataclass(frozen=True)
class LaunchEstimate:
    """How fast one launch was."""

    log_step_s: float
    """Trimmed mean of the logs of block means of seconds per step."""
    se: float
    """Standard error of that within the launch, in log units (0.01 is 1 %)."""
    df: float
    blocks: int


@dataclass(frozen=True)
class WarmUp:
    """Where the steady part of a launch begins."""

    first_step: int
    settled: bool
    """False when more than a third of the launch would be warm-up: it must go on."""


def block_length(num_workers: int) -> int:
    """Return the steps of a block: a multiple of the loader's rhythm, at least ten."""
    rhythm = max(1, num_workers)
    return rhythm * max(1, math.ceil(_BLOCK_STEPS / rhythm))


def log_block_means(steps_s: Sequence[float], block: int) -> list[float]:
    """Return the log of each whole block's mean; what is left over at the end is not used."""
    return [
        math.log(sum(steps_s[start : start + block]) / block)
        for start in range(0, len(steps_s) - block + 1, block)
    ]


def find_warm_up(steps_s: Sequence[float], block: int) -> WarmUp:
    """Walk back from the second half for as long as blocks agree with it.

    A lone block that disagrees (an epoch's start, a checkpoint) does not end the walk, two in a row do. The
    first block always goes.
    """
    means = log_block_means(steps_s, block)
    count = len(means)
    if count < 2:
        return WarmUp(len(steps_s), settled=False)
    second_half = means[count // 2 :]
    centre = _upper_median(second_half)
    spread = _upper_median([abs(mean - centre) for mean in second_half])
    tolerance = max(3 * _MAD_TO_SD * spread, _LEAST_TOLERANCE)
    start, misses = count // 2, 0
    for index in range(count // 2 - 1, -1, -1):
        if abs(means[index] - centre) <= tolerance:
            start, misses = index, 0
            continue
        misses += 1
        if misses == _MISSES_THAT_END:
            break
    start = max(start, 1)
    return WarmUp(start * block, settled=start <= count / 3)


def _upper_median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def estimate_launch(steps_s: Sequence[float], block: int) -> LaunchEstimate:
    """Estimate a launch from its steady steps.

    The standard error is of a 20 % trimmed mean (winsorised variance), widened for the correlation between
    neighbouring blocks.

    Raises:
        ValueError: fewer than six blocks.
    """
    means = log_block_means(steps_s, block)
    count = len(means)
    if count < FEWEST_BLOCKS:
        raise ValueError(f"{count} blocks of {block} steps; {FEWEST_BLOCKS} are needed")
    ordered = sorted(means)
    cut = int(_TRIMMED_SHARE * count)
    kept = count - 2 * cut
    lowest, highest = ordered[cut], ordered[count - cut - 1]
    winsorised = [min(max(mean, lowest), highest) for mean in means]
    centre = sum(winsorised) / count
    deviations = [value - centre for value in winsorised]
    squares = sum(value * value for value in deviations)
    inflation = _inflation(deviations, squares)
    se = math.sqrt(squares * inflation / (kept * (kept - 1)))
    df = (kept - 1) / min(inflation, _MOST_DF_INFLATION)
    return LaunchEstimate(sum(ordered[cut : count - cut]) / kept, se, df, count)


def _inflation(deviations: Sequence[float], squares: float) -> float:
    """By how much correlated neighbours widen the variance; the lag-1 estimate is corrected for its bias."""
    products = sum(first * second for first, second in pairwise(deviations))
    correlation = products / (squares + 1e-18) + 1 / len(deviations)
    correlation = min(max(correlation, 0.0), _MOST_CORRELATION)
    return (1 + correlation) / (1 - correlation)
