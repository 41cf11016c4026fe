"""The whole procedure against simulated hosts of known truth: few false verdicts, real gains found."""

import random
from collections import Counter
from itertools import islice

import pytest

from benchmarks.simulated_launches import HOSTS, HostModel, simulate_launches
from perftui.trainer.tuning.enough import assess, sufficient_se, wanted_se
from perftui.trainer.tuning.noise import Seen, before_repeats, is_untold, learned_noise
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.procedure import next_label
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise, Point
from perftui.trainer.tuning.verdict import SE_LIMIT, decide

CAPS = Caps(steps=300)
BY_NAME = {host.name: host for host in HOSTS}


def run_procedure(host: HostModel, gain: float, rng: random.Random, noise: Noise) -> str:
    points: list[Point] = []
    for _, point in simulate_launches(host, gain, rng, CAPS, noise.tau0):
        points.append(point)
        known, untold = before_repeats(noise, len(points)), is_untold(noise, len(points))
        if next_label(points, known, untold=untold) is None:
            break
    return decide(points, before_repeats(noise, len(points))).word


def learn(host: HostModel, rng: random.Random) -> Noise:
    """As the ledger would: eight comparisons of four launches with this host."""
    windows: list[list[Seen]] = []
    for _ in range(8):
        points = [point for _, point in islice(simulate_launches(host, 0.0, rng, CAPS, 0.01), 4)]
        windows.append([Seen(p.label, p.log_step_s, p.se) for p in points if p.se <= SE_LIMIT])
    return learned_noise(windows)


def words(name: str, gain: float, noise: Noise | None, repetitions: int) -> Counter[str]:
    rng = random.Random(f"{name} {gain} {noise}")
    host = BY_NAME[name]
    return Counter(run_procedure(host, gain, rng, noise or learn(host, rng)) for _ in range(repetitions))


@pytest.mark.parametrize("name", ["quiet", "typical", "thermal"])
def test_identical_settings_are_rarely_told_apart(name: str) -> None:
    found = words(name, 0.0, DEFAULT_NOISE, 150)
    assert found["faster"] + found["slower"] <= 4, found


@pytest.mark.parametrize("name", ["typical", "shared"])
def test_learned_noise_keeps_the_promise(name: str) -> None:
    found = words(name, 0.0, None, 40)
    assert found["faster"] + found["slower"] <= 3, found


@pytest.mark.parametrize(("gain", "least"), [(0.05, 95), (0.10, 99)])
def test_real_gains_are_found(gain: float, least: int) -> None:
    found = words("typical", gain, DEFAULT_NOISE, 100)
    assert found["faster"] >= least, found
    assert found["slower"] == 0, found


def test_a_loss_of_speed_is_never_called_a_gain() -> None:
    found = words("typical", -0.05, DEFAULT_NOISE, 60)
    assert found["faster"] == 0, found
    assert found["slower"] >= 57, found


def test_wild_steps_are_refused() -> None:
    wild = HostModel("wild", 0.5, 0.75, 4, 0.3, 0.0, 0.0, 0.0)
    rng = random.Random(5)
    found = Counter(run_procedure(wild, 0.0, rng, DEFAULT_NOISE) for _ in range(60))
    assert found == {"too_noisy": 60}


def test_an_unsettled_launch_is_not_enough() -> None:
    steps = [0.1 * (1 + 0.3 * (index < 60)) for index in range(100)]
    found = assess(steps, 10, 0.007, CAPS)
    assert not found.enough
    assert not found.settled
    settled = assess([0.1] * 90, 10, 0.007, CAPS)
    assert settled.enough
    assert (settled.warm_steps, settled.steady_steps) == (10, 80)


def test_too_few_steps_give_no_estimate() -> None:
    assert assess([0.1] * 69, 10, 0.007, CAPS).estimate is None
    assert assess([], 10, 0.007, CAPS).estimate is None


def test_a_big_promise_needs_less_precision_and_never_as_little_as_the_gate() -> None:
    assert wanted_se(0.01) == pytest.approx(0.007)
    assert wanted_se(0.003) == pytest.approx(0.003)
    assert wanted_se(0.01, 1.1) == pytest.approx(0.007)
    assert wanted_se(0.01, 1.25) == pytest.approx(0.0112, abs=1e-4)
    assert wanted_se(0.01, 50.0) == pytest.approx(0.015)
    assert wanted_se(0.01, 0.5) == pytest.approx(0.007)


def test_only_what_will_be_given_up_may_be_known_less_well() -> None:
    assert sufficient_se(3.0) == pytest.approx(0.04)
    assert sufficient_se(2.9) is None
    assert sufficient_se(None) is None
