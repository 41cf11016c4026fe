"""Simulated launches with the noise that trainings have, to check the procedure against a known truth.

Benchmarks and tests draw from the same model. Five hosts, from a quiet one to one that is shared: log step
times with correlated, heavy-tailed noise, spikes, a loader's periodic stall, and a level that differs, drifts
and walks from launch to launch.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from perftui.trainer.tuning.enough import assess, wanted_se
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.regression import Label, Point
from perftui.trainer.tuning.steady import block_length

_LOOK_EVERY = 20


@dataclass(frozen=True)
class HostModel:
    """Noise of one kind of host; all sizes in log units."""

    name: str
    step_sd: float
    correlation: float
    tails_df: int
    tau: float
    drift: float
    """From launch to launch, in a direction drawn once a comparison."""
    walk: float
    spikes: float
    """Share of steps that take 1.5 to 4 times as long."""
    stall: float = 0.0
    """By how much every eighth step is longer."""


HOSTS = (
    HostModel("quiet", 0.01, 0.3, 4, 0.003, 0.001, 0.001, 0.003),
    HostModel("typical", 0.03, 0.5, 3, 0.005, 0.003, 0.003, 0.01),
    HostModel("loader", 0.10, 0.6, 3, 0.010, 0.003, 0.003, 0.02, stall=0.82),
    HostModel("thermal", 0.02, 0.5, 3, 0.005, 0.015, 0.003, 0.01),
    HostModel("shared", 0.06, 0.9, 3, 0.020, 0.005, 0.010, 0.02),
)


def simulate_launches(
    host: HostModel, gain: float, rng: random.Random, caps: Caps, tau0: float
) -> Iterator[tuple[Label, Point]]:
    """Yield launches for as long as they are asked for, in the order A B B A A B B A.

    `gain` is B's, in logs. Each launch goes on until it is measured well enough or to its cap, as a real one.
    """
    drift = host.drift * rng.choice((-1, 1))
    level, number = 0.0, 0
    while True:
        label: Label = "B" if number % 4 in (1, 2) else "A"
        mean = level + rng.gauss(0, host.tau) - (gain if label == "B" else 0.0)
        yield label, _measure(label, host, mean, rng, caps, tau0)
        level += drift + rng.gauss(0, host.walk)
        number += 1


def _measure(
    label: Label, host: HostModel, mean: float, rng: random.Random, caps: Caps, tau0: float
) -> Point:
    block = block_length(8 if host.stall else 0)
    steps: list[float] = []
    source = _steps(host, mean, rng)
    while True:
        steps += [next(source) for _ in range(_LOOK_EVERY)]
        found = assess(steps, block, wanted_se(tau0), caps)
        if found.estimate and (found.enough or len(steps) >= caps.steps):
            return Point(label, found.estimate.log_step_s, found.estimate.se, found.estimate.df)


def _steps(host: HostModel, mean: float, rng: random.Random) -> Iterator[float]:
    """Yield step times in seconds: an AR(1) series with Student-t innovations around `mean`, for ever."""
    scale = host.step_sd * math.sqrt(1 - host.correlation**2) / math.sqrt(host.tails_df / (host.tails_df - 2))
    noise, number = 0.0, 0
    while True:
        chi2 = rng.gammavariate(host.tails_df / 2, 2)
        noise = host.correlation * noise + scale * rng.gauss(0, 1) / math.sqrt(chi2 / host.tails_df)
        step = math.exp(mean + noise)
        if rng.random() < host.spikes:
            step *= rng.uniform(1.5, 4)
        if number % 8 == 0:
            step *= 1 + host.stall
        number += 1
        yield step
