"""What the past of a run teaches of the noise between launches."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from perftui.ipc.ledger_records import Launch
from perftui.ipc.messages import FLAG_PROFILED
from perftui.ipc.view import RankHistory
from perftui.trainer.tuning.judge import judge
from perftui.trainer.tuning.noise_of_past import Pace, noise_with_past, paces
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from tests.made_ledger import made_launch

LEARNED = Noise(0.006, 8.0)


def past(mean_ms: Callable[[int], float], steps: int, spread: float = 0.02, stride: int = 1) -> list[Pace]:
    """Return steps whose mean depends on the second in which they lie."""
    source, found, at_s = random.Random(3), list[Pace](), 0.0
    for _ in range(steps // stride):
        step_s = mean_ms(int(at_s)) / 1000 * source.lognormvariate(0, spread / stride**0.5)
        found.append(Pace(stride, step_s))
        at_s += stride * step_s
    return found


def by_turns(second: int) -> float:
    """Return 38 and 61 ms, for ten seconds each."""
    return 61.0 if second // 10 % 2 else 38.0


@pytest.mark.parametrize("stride", [1, 4])
def test_a_host_with_two_speeds_is_known_by_them(stride: int) -> None:
    noise = noise_with_past(DEFAULT_NOISE, past(by_turns, 2400, stride=stride), 10)
    assert 0.15 < noise.tau0 < 0.45  # launches in turn would lie half of log(61 / 38) = 0.47 from their mean


def test_launches_of_such_a_host_are_not_told_apart() -> None:
    def launch(label: str, log_step_s: float) -> Launch:
        return made_launch(
            label, log_step_s=log_step_s, se=0.006, df=5.0, started_unix=0.0, settled=True, foreign_cores=0.1
        )

    seen = [launch("A", -2.79), launch("B", -3.24)]  # 61 and 39 ms, identical settings
    assert judge(seen, DEFAULT_NOISE, 2.0).verdict == "inconclusive", "of a host that nobody knows"
    assert judge(seen, replace(DEFAULT_NOISE, steady_past=True), 2.0).verdict == "faster"
    assert (
        judge(seen, noise_with_past(DEFAULT_NOISE, past(by_turns, 2400), 10), 2.0).verdict == "inconclusive"
    )


@pytest.mark.parametrize("known", [DEFAULT_NOISE, LEARNED])
def test_a_calm_run_leaves_what_is_known(known: Noise) -> None:
    assert noise_with_past(known, past(lambda _: 40.0, 2000), 10) == replace(known, steady_past=True)
    assert noise_with_past(known, past(lambda _: 40.0, 600), 10) == known, "too short to tell"


def test_what_repeats_taught_gives_way_to_a_restless_past() -> None:
    noise = noise_with_past(LEARNED, past(by_turns, 2400), 10)
    assert noise.tau0 > 0.15
    assert noise.nu0 == DEFAULT_NOISE.nu0


def test_a_run_that_slows_down_evenly_is_not_restless() -> None:
    noise = noise_with_past(DEFAULT_NOISE, past(lambda second: 40.0 * 1.002**second, 1500), 10)
    assert noise.tau0 < 0.02


def test_noisy_steps_alone_are_no_noise_of_launches() -> None:
    noise = noise_with_past(DEFAULT_NOISE, past(lambda _: 40.0, 4000, spread=0.15), 10)
    assert noise.tau0 < 0.02


def test_what_lies_longer_ago_does_not_count() -> None:
    restless = past(by_turns, 2400)
    calm = past(lambda _: 400.0, 1700, spread=0.01)  # 680 s
    assert noise_with_past(DEFAULT_NOISE, [*restless, *calm], 10).tau0 == DEFAULT_NOISE.tau0


def test_a_short_past_says_nothing() -> None:
    assert noise_with_past(DEFAULT_NOISE, [], 10) == DEFAULT_NOISE
    assert noise_with_past(DEFAULT_NOISE, past(by_turns, 150), 10) == DEFAULT_NOISE


def test_paces_are_of_one_rank_and_of_usual_steps() -> None:
    def part(rank: int, stride: int, wall_ms: list[float], flags: list[int]) -> RankHistory:
        return RankHistory(
            rank=rank, first_step=0, stride=stride, wall_ms=wall_ms, wait_ms=[0.0] * len(wall_ms), flags=flags
        )

    parts = [
        part(0, 8, [40.0], [0]),
        part(1, 1, [10.0], [0]),
        part(0, 1, [50.0, 900.0, 60.0], [0, FLAG_PROFILED, 0]),
    ]
    assert paces(parts, 0) == [Pace(8, 0.04), Pace(1, 0.05), Pace(1, 0.06)]
