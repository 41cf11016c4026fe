"""Changes that alter what a step holds: no speed is told where the work of a step is not known."""

import math

import msgspec
import pytest

from perftui.ipc.ledger_records import Launch
from perftui.ipc.view import RankView
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.comparison import Trials
from perftui.trainer.tuning.judge import judge
from perftui.trainer.tuning.next_trial import next_trial
from perftui.trainer.tuning.provisional import provisional_verdict
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.trials import Trial
from tests.tuning.made_updates import history, rank_view, update

from .made_search import launch

KNOWN = Noise(0.005, 8.0)
HALVED_S, WHOLE_S = -2.65, -2.0


def pair(before: dict[str, float], after: dict[str, float], step_of_b: float = HALVED_S) -> list[Launch]:
    return [launch("A", None, WHOLE_S, **before), launch("B", None, step_of_b, **after)]


def word(launches: list[Launch], semantics: str) -> str:
    return judge(launches, KNOWN, 8.0, semantics=semantics).verdict


@pytest.mark.parametrize("step_of_b", [HALVED_S, -1.5, WHOLE_S])
@pytest.mark.parametrize(("before", "after"), [({}, {}), ({"samples_per_step": 12.0}, {})])
def test_steps_of_unknown_work_are_not_told_apart_where_the_change_may_alter_it(
    before: dict[str, float], after: dict[str, float], step_of_b: float
) -> None:
    launches = pair(before, after, step_of_b)
    verdict = judge(launches * 2, KNOWN, 8.0, semantics="changes-training")
    assert verdict.verdict == "inconclusive"
    assert "how many samples a step holds is not known, and the change may alter it" in verdict.sentence
    assert word(launches, "neutral") in ("faster", "slower", "inconclusive")


def test_a_change_that_leaves_the_work_alone_needs_no_samples() -> None:
    assert word(pair({}, {}), "neutral") == "faster"
    assert word(pair({}, {}), "numeric") == "faster"


def test_the_change_of_a_comparison_is_what_decides() -> None:
    trials = Trials({}, {"arg.batch_size": 6}, KNOWN, 8.0, 4, "changes-training")
    trials.done += [Trial(each) for each in pair({}, {})]
    assert trials.verdict().verdict == "inconclusive"


def test_samples_of_other_lengths_are_not_compared() -> None:
    long = {"samples_per_step": 12.0, "tokens_per_step": 12 * 1024.0}
    short = {"samples_per_step": 12.0, "tokens_per_step": 12 * 512.0}
    verdict = judge(pair(long, short), KNOWN, 8.0, semantics="changes-training")
    assert verdict.verdict == "inconclusive"
    assert "samples hold other numbers of tokens, 512 and 1024" in verdict.sentence
    halved = {"samples_per_step": 6.0, "tokens_per_step": 6 * 1024.0}
    told = judge(pair(long, halved, -2.8), KNOWN, 8.0, semantics="changes-training")
    assert (told.verdict, told.per) == ("faster", "sample")
    assert told.sentence.count("per sample, for steps hold different numbers of them") == 1
    assert word(pair(long, {"samples_per_step": 12.0}), "changes-training") == "inconclusive"
    assert word(pair(long, short), "neutral") == "faster"  # padding: the same samples in another order


BY_TOKENS = ({"samples_per_step": 40.0}, {"samples_per_step": 42.5})
"""Means of batches that hold as many samples as make up so many tokens, over other numbers of steps."""


@pytest.mark.parametrize("semantics", ["neutral", "numeric"])
def test_batches_of_other_numbers_of_samples_alone_make_nothing_faster(semantics: str) -> None:
    same = [*pair(*BY_TOKENS, WHOLE_S), *reversed(pair(*BY_TOKENS, WHOLE_S))]
    verdict = judge(same, KNOWN, 8.0, semantics=semantics)
    assert verdict.gain == pytest.approx(0.0)
    assert verdict.per == "step"
    real = judge(pair(*BY_TOKENS), KNOWN, 8.0, semantics=semantics)
    assert (real.verdict, real.per) == ("faster", "step")
    assert real.gain == pytest.approx(math.expm1(WHOLE_S - HALVED_S))


@pytest.mark.parametrize(("semantics", "gain"), [("neutral", 0.0), ("changes-training", 1.0)])
def test_a_switch_knows_the_work_of_a_step_by_the_change_as_well(semantics: str, gain: float) -> None:
    doubled = pair({"samples_per_step": 8.0}, {"samples_per_step": 16.0}, WHOLE_S)
    verdict = provisional_verdict([Trial(each) for each in doubled], KNOWN, semantics)
    assert verdict.gain == pytest.approx(gain)


def test_the_next_launch_is_chosen_by_what_is_judged() -> None:
    doubled = pair({"samples_per_step": 8.0}, {"samples_per_step": 16.0}, WHOLE_S)
    assert next_trial(doubled, [{}, {}], "changes-training", KNOWN, 8.0, 4) is None
    assert next_trial(doubled, [{}, {}], "neutral", KNOWN, 8.0, 4) == "B"


def test_tokens_of_a_step_are_gathered_over_all_ranks() -> None:
    def rank(number: int, tokens_per_s: float | None) -> RankView:
        return msgspec.structs.replace(rank_view(number, 9), steps_per_s=4.0, tokens_per_s=tokens_per_s)

    collector = Collector()
    collector.take(update([rank(0, 4096.0), rank(1, 2048.0)], [history(0, 0, [10.0])]))
    assert collector.tokens_per_step() == pytest.approx(1536.0)
    unknown = Collector()
    unknown.take(update([rank(0, 4096.0), rank(1, None)], [history(0, 0, [10.0])]))
    assert unknown.tokens_per_step() is None
