"""The trials of one change: when a numeric one needs a second baseline, and when it fails."""

import math

import msgspec
import pytest

from perftui.trainer.tuning.comparison import Trials
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.trials import Trial
from tests.made_ledger import measured_launch

CURVE = {step: 2.0 - step / 400 for step in range(10, 210, 10)}
STEADY = Noise(steady_past=True)
SPOILT = dict.fromkeys(CURVE, 3.0)


def trial(label: str, step_s: float, losses: dict[int, float]) -> Trial:
    return Trial(measured_launch(label, step_s), losses=losses)


def trials(semantics: str, *done: Trial, most: int = 4) -> Trials:
    return Trials({}, {"precision.tf32": True}, STEADY, 2.0, most, semantics, done=list(done))


def test_a_faster_numeric_change_takes_a_second_baseline_for_its_losses() -> None:
    a, b = trial("A", 0.2, CURVE), trial("B", 0.1, CURVE)
    assert trials("numeric", a, b).next_label() == "A"
    assert trials("numeric", a, b, a).next_label() is None
    verdict = trials("numeric", a, b, a).verdict()
    assert (verdict.verdict, verdict.loss_agrees) == ("faster", True)


@pytest.mark.parametrize("semantics", ["neutral", "changes-training"])
def test_another_change_does_not(semantics: str) -> None:
    assert trials(semantics, trial("A", 0.2, CURVE), trial("B", 0.1, CURVE)).next_label() is None


def test_no_second_baseline_where_it_tells_nothing() -> None:
    assert trials("numeric", trial("A", 0.2, {}), trial("B", 0.1, {})).next_label() is None
    assert trials("numeric", trial("A", 0.1, CURVE), trial("B", 0.2, CURVE)).next_label() is None
    assert trials("numeric", trial("A", 0.2, CURVE), trial("B", 0.1, CURVE), most=2).next_label() is None


def test_after_a_second_baseline_the_change_is_next_if_it_goes_on() -> None:
    done = [trial("A", 0.108, CURVE), trial("B", 0.1, CURVE), trial("A", 0.1, CURVE)]
    assert trials("numeric", *done).next_label() == "B"


def test_a_numeric_change_that_spoils_the_loss_has_failed_however_fast() -> None:
    a, b = trial("A", 0.2, CURVE), trial("B", 0.1, SPOILT)
    verdict = trials("numeric", a, b, a).verdict()
    assert (verdict.verdict, verdict.loss_agrees, verdict.gain) == ("failed", False, None)
    assert verdict.sentence.startswith("with the change the loss is another one, so it is not kept: loss at")
    assert "speed: 2.00 times as fast" in verdict.sentence
    broken = trial("B", 0.1, {**CURVE, 200: math.nan})
    assert "no number any more" in trials("numeric", a, broken, a).verdict().sentence
    slower = trials("numeric", a, trial("B", 0.4, SPOILT)).verdict()
    assert (slower.verdict, slower.loss_agrees) == ("slower", False)


def test_the_loss_of_a_neutral_change_is_told_and_does_not_judge() -> None:
    verdict = trials("neutral", trial("A", 0.2, CURVE), trial("B", 0.1, SPOILT)).verdict()
    assert (verdict.verdict, verdict.loss_agrees) == ("faster", False)
    assert verdict.loss is not None
    assert verdict.loss.startswith("loss at step 200: 1.5 before, 3 after")
    a, b = (
        Trial(msgspec.structs.replace(each.launch, samples_per_step=8.0), losses=each.losses)
        for each in (trial("A", 0.2, CURVE), trial("B", 0.1, SPOILT))
    )
    other = trials("changes-training", a, b).verdict()
    assert (other.verdict, other.loss_agrees, other.loss) == ("faster", None, "loss: not comparable")
