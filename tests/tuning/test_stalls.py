"""Stalls that the trimmed mean leaves out: epoch starts, pauses. No difference is called one against them."""

import math
from collections.abc import Iterator

import msgspec
import pytest

from perftui.ipc.ledger_records import Launch
from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_PROFILED
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.enough import assess
from perftui.trainer.tuning.judge import judge, next_launch
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.provisional import provisional_verdict
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.stalls import contradicts, plain_gain
from perftui.trainer.tuning.steady import block_length
from perftui.trainer.tuning.trials import Trial
from tests.made_ledger import made_launch
from tests.tuning.made_updates import history, rank_view, update

CPUS = 8.0
KNOWN = Noise(0.005, 8.0)


def steps_s(count: int, usual_s: float, stall_s: float, every: int) -> Iterator[float]:
    """Steps of which each `every`th has a stall; the others differ by a per cent."""
    for step in range(count):
        yield usual_s * (1 + 0.01 * (step * 7 % 5 - 2) / 2) + (stall_s if step % every == 0 else 0.0)


def launch(label: str, times: Iterator[float], workers: int = 0, **more: object) -> Launch:
    steps = list(times)
    found = assess(steps, block_length(workers), 0.007, Caps())
    assert found.estimate is not None
    steady = steps[found.warm_steps :]
    measured: dict[str, object] = {
        "settings": {"loader.num_workers": workers},
        "steps": found.steady_steps,
        "log_step_s": found.estimate.log_step_s,
        "se": found.estimate.se,
        "df": found.estimate.df,
        "step_ms": 1000 * sum(steady) / len(steady),
        "settled": found.settled,
        "foreign_cores": 0.0,
    }
    return made_launch(label, **{**measured, **more})


@pytest.mark.parametrize("count", [250, 600])
def test_workers_that_start_anew_at_each_epoch_are_not_called_faster(count: int) -> None:
    a = launch("A", steps_s(count, 0.1, 0.0, 100))
    b = launch("B", steps_s(count, 0.06, 6.0, 100), workers=16)
    assert a.log_step_s is not None
    assert b.log_step_s is not None
    assert a.log_step_s - b.log_step_s > 0.5  # so much faster by what is trimmed
    verdict = judge([a, b], KNOWN, CPUS)
    assert verdict.verdict == "inconclusive"
    assert "with all stalls (epoch starts, pauses) a step takes 100 ms in A and 1" in verdict.sentence
    assert next_launch([a, b], KNOWN, CPUS, 4) == "B"
    back = judge([msgspec.structs.replace(b, label="A"), msgspec.structs.replace(a, label="B")], KNOWN, CPUS)
    assert back.verdict == "inconclusive"


@pytest.mark.parametrize(("stall_s", "word"), [(0.0, "faster"), (1.0, "faster"), (3.0, "inconclusive")])
def test_a_gain_stands_as_long_as_stalls_leave_half_of_it(stall_s: float, word: str) -> None:
    a = launch("A", steps_s(600, 0.1, 0.0, 100))
    b = launch("B", steps_s(600, 0.06, stall_s, 100), workers=16)
    assert judge([a, b], KNOWN, CPUS).verdict == word


def test_a_switch_without_trials_tells_of_stalls_that_eat_its_gain() -> None:
    a = launch("A", steps_s(250, 0.1, 0.0, 100))
    b = launch("B", steps_s(250, 0.06, 6.0, 100), workers=16)
    words = "with all stalls (epoch starts, pauses) a step takes 100 ms in A and"
    assert words in provisional_verdict([Trial(a), Trial(b)], KNOWN).sentence
    calm = launch("B", steps_s(250, 0.06, 0.0, 100), workers=16)
    assert words not in provisional_verdict([Trial(a), Trial(calm)], KNOWN).sentence


def test_equal_but_for_rare_pauses_is_not_the_same() -> None:
    a = [launch("A", steps_s(600, 0.1, 0.0, 100)) for _ in range(2)]
    b = [launch("B", steps_s(600, 0.1, 2.0, 100)) for _ in range(2)]
    assert judge([a[0], *b, a[1]], KNOWN, CPUS).verdict == "inconclusive"
    alike = [msgspec.structs.replace(each, label="B") for each in a]
    assert judge([a[0], *alike, a[1]], KNOWN, CPUS).verdict == "same"


def test_stalls_are_counted_by_the_sample_where_speeds_are() -> None:
    a = launch("A", steps_s(250, 0.1, 0.0, 100), samples_per_step=32.0)
    b = launch("B", steps_s(250, 0.12, 0.0, 100), samples_per_step=64.0)
    assert plain_gain([a, b], "sample") == pytest.approx(math.log(2 / 1.2), abs=0.001)
    assert judge([a, b], KNOWN, CPUS, semantics="changes-training").verdict == "faster"
    assert plain_gain([a, msgspec.structs.replace(b, step_ms=None)], "step") is None


def test_what_is_not_known_denies_nothing() -> None:
    assert not contradicts(None, "faster", 0.5)
    assert not contradicts(-1.0, "too_noisy", 0.5)
    assert contradicts(0.2, "slower", -0.1)
    assert not contradicts(-0.06, "slower", -0.1)


@pytest.mark.parametrize(
    ("workers", "settings", "epochs", "told"),
    [
        (16, {}, 0, True),
        (16, {}, 2, False),
        (16, {}, None, False),
        (16, {"loader.persistent_workers": True}, 0, False),
        (0, {}, 0, False),
    ],
)
def test_more_workers_that_no_epoch_began_with_say_so(
    workers: int, settings: Settings, epochs: int | None, told: bool
) -> None:
    a = launch("A", steps_s(90, 0.1, 0.0, 100), epoch_starts=0)
    b = launch("B", steps_s(120, 0.06, 0.0, 1000), workers, epoch_starts=epochs, effective=settings)
    verdict = judge([a, b], KNOWN, CPUS)
    assert verdict.verdict == "faster"
    words = "no epoch began while B was measured: what it costs to start 16 workers is not in it"
    assert verdict.sentence.endswith(words) == told


def test_epochs_that_began_are_counted_over_the_steps_that_count() -> None:
    collector = Collector()
    assert collector.epoch_starts(0) == 0
    flags = [FLAG_EPOCH_START, 0, FLAG_EPOCH_START, FLAG_PROFILED | FLAG_EPOCH_START, 0]
    collector.take(update([rank_view(0, 5)], [history(0, 0, [10.0] * 5, flags)]))
    assert [collector.epoch_starts(first) for first in (0, 1, 3)] == [2, 1, 0]
