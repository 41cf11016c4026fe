"""Verdicts in words, refusals, and the order of launches."""

import math
from dataclasses import replace

import msgspec
import pytest

from perftui.ipc.ledger_records import BROKEN, Launch, Outcome
from perftui.trainer.tuning.judge import is_contended, judge, next_launch
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.wording import fine_percent
from tests.made_ledger import measured_launch

CPUS = 2.0


def launch(
    label: str,
    step_s: float | None,
    *,
    se: float = 0.003,
    foreign: float | None = 0.1,
    settled: bool = True,
    gpus: tuple[str, ...] = (),
    host: str = "h",
    note: str | None = None,
) -> Launch:
    return measured_launch(
        label,
        step_s,
        steps=106,
        se=se,
        foreign_cores=foreign,
        settled=settled,
        gpu_uuids=list(gpus),
        host=host,
        note=note,
    )


STEADY = replace(DEFAULT_NOISE, steady_past=True)


def following(launches: list[Launch], most: int = 4) -> str | None:
    return next_launch(launches, DEFAULT_NOISE, CPUS, most)


def test_a_clear_gain_takes_two_launches() -> None:
    launches = [launch("A", 0.184), launch("B", 0.1)]
    assert next_launch(launches, STEADY, CPUS, 4) is None
    verdict = judge(launches, STEADY, CPUS)
    assert verdict.verdict == "faster"
    assert verdict.gain == pytest.approx(0.84)
    assert verdict.sentence.startswith("1.84 times as fast (+84 %, 98 % interval +58 to +115 %)")
    assert verdict.sentence.endswith("2 launches, 212 steps")
    assert verdict.lo is not None
    assert verdict.hi is not None
    assert 0.5 < verdict.lo < 0.84 < verdict.hi < 1.2
    learned = judge(launches, Noise(0.005, 8.0), CPUS)
    assert learned.lo is not None
    assert 0.75 < learned.lo < 0.84


def test_what_is_sure_but_vague_goes_on_where_nobody_knows_the_host() -> None:
    launches = [launch("A", 0.184), launch("B", 0.1)]
    assert judge(launches, DEFAULT_NOISE, CPUS).verdict == "faster"
    assert following(launches) == "B"
    assert following([*launches, launches[1]]) == "A"
    whole = [*launches, launches[1], launches[0]]
    assert following(whole) is None
    told = judge(whole, DEFAULT_NOISE, CPUS)
    assert told.lo is not None
    assert told.lo > 0.75
    assert following([launch("A", 0.35), launch("B", 0.1)]) is None, "three and a half times the speed"
    assert following([launch("A", 0.1), launch("B", 0.184)]) == "B", "a loss likewise"


def test_a_small_gain_takes_a_repeat_where_nobody_knows_what_launches_differ_by() -> None:
    launches = [launch("A", 0.11), launch("B", 0.1)]
    assert judge(launches, Noise(0.005, 8.0), CPUS).verdict == "faster"
    assert judge(launches, DEFAULT_NOISE, CPUS).verdict == "inconclusive"
    assert following(launches) == "B"
    launches.append(launch("B", 0.1))
    assert following(launches) == "A", "three launches and a drift leave nothing that tells their noise"
    assert judge(launches, STEADY, CPUS).verdict == "faster"
    launches.append(launch("A", 0.11))
    assert following(launches) is None
    assert judge(launches, DEFAULT_NOISE, CPUS).verdict == "faster"
    back = [msgspec.structs.replace(launches[1], label="A"), msgspec.structs.replace(launches[0], label="B")]
    assert judge(back, DEFAULT_NOISE, CPUS).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("foreign", "gain", "word"),
    [
        (0.1, 1.65, "inconclusive"),
        (0.1, 1.75, "faster"),
        (1.0, 2.15, "inconclusive"),
        (1.0, 2.3, "faster"),
    ],
)
def test_two_launches_on_an_unknown_host_show_a_large_gain_only(
    foreign: float, gain: float, word: str
) -> None:
    pair = [launch("A", 0.1 * gain, foreign=foreign), launch("B", 0.1, foreign=foreign)]
    assert judge(pair, DEFAULT_NOISE, CPUS).verdict == word


@pytest.mark.parametrize(("gain", "word"), [(1.15, "inconclusive"), (1.21, "faster")])
def test_two_launches_show_more_where_the_past_of_the_run_was_steady(gain: float, word: str) -> None:
    pair = [launch("A", 0.1 * gain), launch("B", 0.1)]
    assert judge(pair, STEADY, CPUS).verdict == word


def test_order_of_launches() -> None:
    assert following([]) == "A"
    assert following([launch("A", 0.1)]) == "B"
    close = [launch("A", 0.103), launch("B", 0.1), launch("B", 0.1), launch("A", 0.104)]
    assert following(close[:2]) == "B"
    assert following(close[:3]) == "A"
    assert following(close) is None
    assert following(close, 8) in ("A", None)


def test_slower_same_and_undecided_in_words() -> None:
    slower = judge([launch("A", 0.1), launch("B", 0.13)], STEADY, CPUS)
    assert slower.verdict == "slower"
    assert slower.sentence.startswith("0.77 times as fast (-23 %")
    calm = [launch(label, 0.1, se=0.0005) for label in "ABBAABBA"]
    same = judge(calm, DEFAULT_NOISE, CPUS)
    assert same.verdict == "same"
    assert same.sentence.startswith("no difference beyond 2 % (")
    open_ = judge([launch("A", 0.102), launch("B", 0.1)], DEFAULT_NOISE, CPUS)
    assert open_.verdict == "inconclusive"
    assert "differences below about" in open_.sentence


def test_a_noisy_pair_is_refused_at_once_and_says_who_disturbs() -> None:
    launches = [launch("A", 0.2, se=0.04, foreign=1.7), launch("B", 0.1, se=0.05)]
    assert following(launches) is None
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "too_noisy"
    assert verdict.gain is None
    assert "known to 5.0 % only, 2.0 % is the limit" in verdict.sentence
    assert "other work keeps 1.7 cores of this host busy" in verdict.sentence


def test_an_obvious_win_on_a_calm_host_takes_four_launches() -> None:
    launches = [launch(label, 0.25 if label == "A" else 0.15, se=0.04) for label in "ABBA"]
    assert [following(launches[:done]) for done in range(5)] == ["A", "B", "B", "A", None]
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "faster"
    assert "the steps are noisy" in verdict.sentence


def test_two_and_a_half_times_the_speed_on_a_calm_host_takes_two() -> None:
    launches = [launch(label, 0.26 if label == "A" else 0.1, se=0.04) for label in "AB"]
    assert [following(launches[:done]) for done in range(3)] == ["A", "B", None]
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "faster"
    assert "the steps are noisy" in verdict.sentence


@pytest.mark.parametrize("foreign", [1.0, None])
def test_no_obvious_win_where_others_compute_or_nobody_looked(foreign: float | None) -> None:
    launches = [launch(label, 0.25 if label == "A" else 0.1, se=0.04, foreign=foreign) for label in "ABBA"]
    assert following(launches[:2]) is None
    assert judge(launches, DEFAULT_NOISE, CPUS).verdict == "too_noisy"


def test_a_small_gain_on_a_busy_host_waits_until_its_noise_is_known() -> None:
    busy = [launch("A", 0.108, foreign=1.0), launch("B", 0.1, foreign=1.0)]
    assert judge(busy, DEFAULT_NOISE, CPUS).verdict == "inconclusive"
    assert following(busy) == "B"
    assert judge(busy, Noise(0.005, 8.0), CPUS).verdict == "inconclusive"
    assert judge(busy, Noise(0.005, 8.0, foreign_cores=0.2), CPUS).verdict == "inconclusive"
    assert judge(busy, Noise(0.005, 8.0, foreign_cores=1.0), CPUS).verdict == "faster"
    four = [busy[0], busy[1], busy[1], busy[0]]
    assert judge(four, DEFAULT_NOISE, CPUS).verdict == "inconclusive"
    unknown = [launch("A", 0.108, foreign=None), launch("B", 0.1, foreign=None)]
    assert judge([*unknown, unknown[1], unknown[0]], DEFAULT_NOISE, CPUS).verdict == "faster"


@pytest.mark.parametrize("gain", [0.053, 0.1, 0.15])
def test_noise_that_was_learned_on_a_quiet_host_says_nothing_of_a_busy_one(gain: float) -> None:
    pair = [launch("A", math.exp(-2 + gain), foreign=4.0), launch("B", math.exp(-2), foreign=4.0)]
    assert judge(pair, Noise(0.005, 8.0), 16).verdict == "inconclusive"
    assert judge(pair, Noise(0.005, 8.0, foreign_cores=4.0), 16).verdict == "faster"
    quiet = [msgspec.structs.replace(each, foreign_cores=0.1) for each in pair]
    assert judge(quiet, Noise(0.005, 8.0), 16).verdict == "faster"


def test_unsettled_launches_give_no_verdict() -> None:
    launches = [launch("A", 0.2), launch("B", 0.17, settled=False)]
    assert following(launches) is None
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "too_noisy"
    assert "launch B was still changing" in verdict.sentence


@pytest.mark.parametrize(("after_s", "word"), [(0.14, "faster"), (0.165, "too_noisy")])
def test_only_an_obvious_win_stands_beside_an_unsettled_baseline(after_s: float, word: str) -> None:
    before = [launch("A", 0.23), launch("A", 0.2, settled=False)]
    launches = [before[0], launch("B", after_s), launch("B", after_s), before[1]]
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == word
    assert ("launch A was still changing" in verdict.sentence) == (word == "too_noisy")


def test_repeats_that_disagree_give_no_verdict() -> None:
    launches = [launch("A", 0.2), launch("B", 0.1), launch("B", 0.1), launch("A", 0.15)]
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "repeats_disagree"
    assert "same settings differ by 33 %" in verdict.sentence


def test_failed_launch_ends_it_with_its_reason() -> None:
    launches = [launch("A", 0.2), launch("B", None, note="out of memory")]
    assert following(launches) is None
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "failed"
    assert verdict.sentence == "a launch with the change could not be measured: out of memory"


@pytest.mark.parametrize("outcome", sorted(BROKEN))
def test_a_launch_that_broke_down_is_no_ground_for_a_verdict_whatever_it_measured(outcome: Outcome) -> None:
    broken = msgspec.structs.replace(launch("B", 0.1, note="killed"), outcome=outcome)
    launches = [launch("A", 0.2), broken]
    assert following(launches) is None
    verdict = judge(launches, DEFAULT_NOISE, CPUS)
    assert verdict.verdict == "failed"
    assert verdict.sentence == "a launch with the change could not be measured: killed"


def test_different_hardware_is_never_compared() -> None:
    for other in (launch("B", 0.1, gpus=("GPU-2",)), launch("B", 0.1, gpus=("GPU-1",), host="other")):
        launches = [launch("A", 0.2, gpus=("GPU-1",)), other]
        assert following(launches) is None
        verdict = judge(launches, DEFAULT_NOISE, CPUS)
        assert verdict.verdict == "failed"
        assert "not comparable" in verdict.sentence


def test_nothing_measured_is_a_failure_not_a_crash() -> None:
    assert judge([], DEFAULT_NOISE, CPUS).verdict == "failed"
    assert judge([launch("A", 0.1)], DEFAULT_NOISE, CPUS).verdict == "failed"


def test_contention_scales_with_the_host() -> None:
    assert is_contended([launch("A", 0.1, foreign=0.2)], 2) is False
    assert is_contended([launch("A", 0.1, foreign=0.5)], 2) is True
    assert is_contended([launch("A", 0.1, foreign=2.5)], 64) is False
    assert is_contended([launch("A", 0.1, foreign=None)], 2) is None
    assert is_contended([], 2) is None


def test_percent() -> None:
    assert [fine_percent(value) for value in (0.84, -0.003, 0.0999)] == ["+84 %", "-0.3 %", "+10.0 %"]
    assert [fine_percent(value) for value in (0.0, 0.0004, -0.0004)] == ["0.0 %"] * 3, "no sign of nothing"
    assert fine_percent(-0.0004, signed=False) == "0.0 %"


@pytest.mark.parametrize(
    ("first", "bound", "words"),
    [
        (
            launch("A", 0.1, se=0.08, foreign=1.2),
            None,
            "step times are known to 8.0 % only, 2.0 % is the limit, 1 launch, 106 steps; other work keeps "
            "1.2 cores of this host busy",
        ),
        (
            launch("A", 0.1, se=0.08, foreign=None),
            None,
            "step times are known to 8.0 % only, 2.0 % is the limit, 1 launch, 106 steps",
        ),
        (
            launch("A", 0.1, se=0.08),
            1.3,
            "step times are known to 8.0 % only, 2.0 % is the limit, 1 launch, 106 steps",
        ),
        (
            launch("A", 0.1, foreign=1.2, settled=False),
            None,
            "the step time was still changing at its end, 1 launch, 106 steps; other work keeps 1.2 cores of "
            "this host busy",
        ),
    ],
)
def test_where_no_verdict_can_come_of_it_one_launch_ends_it(
    first: Launch, bound: float | None, words: str
) -> None:
    assert next_launch([first], DEFAULT_NOISE, CPUS, 4, bound=bound) is None
    verdict = judge([first], DEFAULT_NOISE, CPUS)
    assert (verdict.verdict, verdict.launches, verdict.steps, verdict.gain) == ("too_noisy", 1, 106, None)
    end = "; no further launch could have made a verdict of it"
    assert verdict.sentence == f"too noisy to judge: {words}{end}"


@pytest.mark.parametrize(
    ("first", "bound"),
    [
        (launch("A", 0.1, se=0.02, foreign=1.2), None),
        (launch("A", 0.1, se=0.08), None),
        (launch("A", 0.1, se=0.08), 1.4),
    ],
)
def test_a_verdict_or_an_obvious_win_that_may_still_come_takes_the_second_launch(
    first: Launch, bound: float | None
) -> None:
    assert next_launch([first], DEFAULT_NOISE, CPUS, 4, bound=bound) == "B"
