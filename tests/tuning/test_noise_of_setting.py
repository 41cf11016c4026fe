"""What the ledger's repeats teach of the noise between launches: of one training, one setting, one host."""

from itertools import count
from pathlib import Path

import pytest

from perftui.ipc.ledger_records import Comparison, Launch, Verdict
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.noise import is_learned, noise_for
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.repeats import repeats_of

TRAIN, OTHER = ["python", "train.py"], ["python", "other.py"]
NUMBERS = count()


def launch(
    label: str,
    log_step_s: float,
    unix: float,
    *,
    se: float = 0.003,
    settled: bool = True,
    run_id: str | None = None,
    gpus: tuple[str, ...] = (),
) -> Launch:
    settings: Settings = {"loader.num_workers": 2} if label == "B" else {}
    return Launch(
        run_id=run_id or f"r{next(NUMBERS)}",
        label="A" if label == "A" else "B",
        settings=settings,
        outcome="stopped",
        log_step_s=log_step_s,
        se=se,
        df=9.0,
        started_unix=unix,
        settled=settled,
        gpu_uuids=list(gpus),
    )


def line(
    *launches: Launch, command: list[str] = TRAIN, host: str = "here", commit: str | None = None
) -> Comparison:
    return Comparison(
        comparison_id=f"c{next(NUMBERS)}",
        unix=launches[-1].started_unix,
        name="n",
        host=host,
        command=command,
        before={},
        set={"loader.num_workers": 2},
        semantics="neutral",
        bound=None,
        expected=None,
        launches=list(launches),
        verdict=Verdict(verdict="same", sentence="s"),
        commit=commit,
    )


def test_repeats_are_of_one_setting_and_well_measured() -> None:
    good = line(launch("A", -1.0, 0), launch("B", -2.0, 30), launch("B", -2.01, 60), launch("A", -1.02, 90))
    assert repeats_of([good]) == [[-1.0, -1.02], [-2.0, -2.01]]
    noisy = line(launch("A", -1.0, 0, se=0.05), launch("A", -3.0, 30))
    drifting = line(launch("A", -1.0, 0, settled=False), launch("A", -3.0, 30))
    assert repeats_of([noisy, drifting]) == [[-3.0, -3.0]]
    assert repeats_of([line(launch("A", -1.0, 0), launch("B", -1.0, 30))]) == []


def test_baselines_of_comparisons_that_follow_each_other_are_repeats() -> None:
    first = line(launch("A", -1.0, 0), launch("B", -2.0, 30))
    second = line(launch("A", -1.01, 60), launch("B", -2.0, 90))
    assert repeats_of([second, first]) == [[-1.0, -1.01], [-2.0, -2.0]]


def test_a_baseline_that_two_comparisons_share_counts_once() -> None:
    shared = launch("A", -1.0, 60, run_id="shared")
    first = line(launch("A", -1.02, 0), launch("B", -2.0, 30), shared)
    second = line(shared, launch("A", -1.01, 120))
    assert repeats_of([first, second]) == [[-1.02, -1.0, -1.01]]


@pytest.mark.parametrize(
    "other",
    [
        line(launch("A", -1.5, 60), command=OTHER),
        line(launch("A", -1.5, 60), commit="another"),
        line(launch("A", -1.5, 60, gpus=("GPU-2",))),
        line(launch("A", -1.5, 60 + 3600)),
    ],
)
def test_another_training_another_gpu_or_another_hour_are_no_repeats(other: Comparison) -> None:
    assert repeats_of([line(launch("A", -1.0, 0)), other]) == []


def test_a_slow_drift_over_many_launches_is_not_noise() -> None:
    drift = line(*[launch("A", -1.0 + 0.01 * place, 30 * place) for place in range(10)])
    assert [len(group) for group in repeats_of([drift])] == [4, 4, 2]


def test_the_training_s_own_repeats_count_once_there_are_enough() -> None:
    calm, wild = [[1.0, 1.002]] * 8, [[1.0, 1.08]] * 12
    assert noise_for(calm, calm + wild) == Noise(0.005, 8.0)
    assert is_learned(noise_for(calm, calm + wild))
    assert noise_for(calm[:2], calm[:2] + wild).tau0 > 0.05
    assert noise_for(wild[:2], calm + wild[:2]).tau0 > 0.03
    assert noise_for([], []) == DEFAULT_NOISE
    assert noise_for([], calm) == Noise(0.005, 8.0)


def test_the_ledger_tells_a_calm_training_from_a_wild_one(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        for number in range(5):
            at = 10_000.0 * number
            ledger.append(line(*[launch("A", -1.0 + 0.001 * place, at + place) for place in range(4)]))
            wild = [launch("A", -1.0 + 0.1 * (place % 2), at + place) for place in range(4)]
            ledger.append(line(*wild, command=OTHER))
            ledger.append(line(*[launch("A", -9.0 * place, at + place) for place in range(4)], host="there"))
        assert ledger.noise("here", TRAIN) == Noise(0.005, 8.0)
        assert 0.05 < ledger.noise("here", OTHER).tau0 < 0.1
        assert 0.03 < ledger.noise("here", ["python", "new.py"]).tau0 < ledger.noise("here", OTHER).tau0
        assert ledger.noise("nowhere") == DEFAULT_NOISE
