"""Losses of A and B, with one seed over the same steps: when they agree, and when a change spoils them."""

import math
import random

from perftui.trainer.tuning.loss_check import NOT_COMPARABLE, check_losses

STEPS = range(10, 210, 10)


def curve(offset: float = 0.0, *, rounding: float = 0.0, seed: int = 1) -> dict[int, float]:
    """A falling loss with the scatter of batches (the same for all) and rounding of its own."""
    batches, own = random.Random(0), random.Random(seed)
    return {
        step: 2.0 - step / 400 + batches.gauss(0, 0.05) + own.gauss(0, rounding) + offset for step in STEPS
    }


def test_the_same_curve_agrees() -> None:
    found = check_losses([curve(), curve()], [curve()])
    assert found.agrees is True
    assert found.words.startswith("loss at step 200: ")
    assert found.words.endswith("; within what launches of the settings in force differ by")


def test_rounding_within_the_spread_of_launches_agrees_and_more_does_not() -> None:
    before = [curve(rounding=0.01, seed=1), curve(rounding=0.01, seed=2)]
    assert check_losses(before, [curve(rounding=0.01, seed=3)]).agrees is True
    found = check_losses(before, [curve(0.2)])
    assert found.agrees is False
    assert "over the last 10 samples it is +0.2" in found.words
    assert check_losses(before, [curve(-0.2)]).agrees is False


def test_without_repeats_the_scatter_of_the_batches_is_the_measure() -> None:
    assert check_losses([curve()], [curve(0.02)]).agrees is True
    assert check_losses([curve()], [curve(0.4)]).agrees is False


def test_launches_that_agree_to_the_last_bit_do_not_forbid_rounding() -> None:
    assert check_losses([curve(), curve()], [curve(0.004, rounding=0.002)]).agrees is True


def test_losses_of_data_known_by_heart_mean_nothing() -> None:
    """A ResNet on one batch for ever: 7 at first, 3.4e-5 and 3.0e-5 in the end."""

    def learnt(rest: float) -> dict[int, float]:
        return {
            step: 7.0 * math.exp(-step / 8) + rest * (1 + 0.02 * (step % 3)) for step in range(0, 200, 10)
        }

    assert check_losses([learnt(3.4e-5)], [learnt(3.0e-5)]).agrees is True
    assert check_losses([learnt(3.4e-5)], [learnt(0.02)]).agrees is False


def test_a_loss_that_is_no_number_any_more_does_not_agree() -> None:
    broken = {**curve(), 200: math.nan}
    found = check_losses([curve()], [broken])
    assert found.agrees is False
    assert "no number any more" in found.words
    assert check_losses([curve()], [{**curve(), 150: math.inf}]).agrees is False
    assert check_losses([broken], [broken]).agrees is None


def test_what_cannot_be_compared_is_not() -> None:
    assert check_losses([{10: 2.5}], [{20: 2.5}]) == NOT_COMPARABLE
    assert check_losses([], [curve()]) == NOT_COMPARABLE
    assert check_losses([{}], [curve()]) == NOT_COMPARABLE
    few = check_losses([{10: 2.5, 20: 2.25}], [{20: 2.5, 30: 2.0}])
    assert (few.words, few.agrees) == ("loss at step 20: 2.25 before, 2.5 after", None)


def test_only_common_steps_count() -> None:
    longer = {**curve(), **dict.fromkeys(range(210, 400, 10), 50.0)}
    assert check_losses([curve(), longer], [longer]).agrees is True
