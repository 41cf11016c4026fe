"""What the ledger's repeats teach of the noise between launches: of one training, one setting, one host."""

import math
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.ledger_records import Comparison, Launch
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.judge import judge
from perftui.trainer.tuning.known_noise import no_less_than_long_launches
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.noise import Seen, is_learned, learned_noise, noise_for
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.repeats import windows_of
from tests.made_ledger import made_comparison, made_launch

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
    return made_launch(
        label,
        run_id=run_id or f"r{next(NUMBERS)}",
        settings=settings,
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
    unix = launches[-1].started_unix
    return made_comparison(
        f"c{next(NUMBERS)}", *launches, unix=unix, host=host, command=command, commit=commit
    )


def settings_of(windows: list[list[Seen]]) -> list[list[float]]:
    return [[each.log_step_s for each in window] for window in windows]


def window(*values: float, order: str = "ABBA", se: float = 0.0) -> list[Seen]:
    return [Seen(letter, value, se) for letter, value in zip(order, values, strict=True)]


def noisy(tau: float, drift: float, count: int, se: float = 0.0, seed: int = 1) -> list[list[Seen]]:
    """Comparisons A B B A on a host that drifts; B is 20 % faster."""
    chance = random.Random(seed)
    return [
        window(
            *[
                -1 - 0.2 * (letter == "B") + drift * place + chance.gauss(0, math.hypot(tau, se))
                for place, letter in enumerate("ABBA")
            ],
            se=se,
        )
        for _ in range(count)
    ]


def test_windows_are_of_one_training_in_wall_order_and_well_measured() -> None:
    good = line(launch("A", -1.0, 0), launch("B", -2.0, 30), launch("B", -2.01, 60), launch("A", -1.02, 90))
    assert settings_of(windows_of([good])) == [[-1.0, -2.0, -2.01, -1.02]]
    assert [each.setting for each in windows_of([good])[0]].count("{}") == 2
    noisy_one = line(launch("A", -1.0, 0, se=0.05), launch("A", -3.0, 30))
    drifting = line(launch("A", -1.0, 60, settled=False), launch("A", -3.0, 90))
    assert settings_of(windows_of([noisy_one, drifting])) == [[-3.0, -3.0]]


def test_comparisons_that_follow_each_other_are_one_window_and_share_launches() -> None:
    shared = launch("A", -1.0, 60, run_id="shared")
    first = line(launch("A", -1.02, 0), launch("B", -2.0, 30), shared)
    second = line(shared, launch("A", -1.01, 120))
    assert settings_of(windows_of([second, first])) == [[-1.02, -2.0, -1.0, -1.01]]


@pytest.mark.parametrize(
    "other",
    [
        line(launch("A", -1.5, 60), command=OTHER),
        line(launch("A", -1.5, 60), commit="another"),
        line(launch("A", -1.5, 60, gpus=("GPU-2",))),
        line(launch("A", -1.5, 60 + 3600)),
    ],
)
def test_another_training_another_gpu_or_another_hour_is_another_window(other: Comparison) -> None:
    assert sorted(settings_of(windows_of([line(launch("A", -1.0, 0)), other]))) == [[-1.5], [-1.0]]


def test_long_chains_are_cut() -> None:
    chain = line(*[launch("A", -1.0, 30 * place) for place in range(10)])
    assert [len(each) for each in windows_of([chain])] == [8, 2]


@pytest.mark.parametrize("drift", [0.0, 0.015, -0.04])
@pytest.mark.parametrize("tau", [0.01, 0.03])
def test_noise_is_learned_without_the_drift(tau: float, drift: float) -> None:
    found = learned_noise(noisy(tau, drift, 400))
    assert found.tau0 == pytest.approx(1.3 * tau, rel=0.1)
    assert is_learned(found)


def test_what_launches_are_known_to_is_no_launch_noise() -> None:
    assert learned_noise(noisy(0.01, 0.0, 400, se=0.012)).tau0 == pytest.approx(1.3 * 0.01, rel=0.15)
    assert learned_noise(noisy(0.0, 0.0, 400, se=0.012)).tau0 == 0.005


def test_one_more_launch_than_levels_and_drift_is_needed() -> None:
    assert learned_noise([]) == DEFAULT_NOISE
    assert learned_noise([window(1.0, 1.5, 1.0, order="ABA"), window(1.0, 9.0, order="AA")]) == DEFAULT_NOISE
    assert learned_noise([window(1.0, 1.1, 1.0, order="AAA")]).tau0 > 0.03


def test_few_repeats_raise_the_default_and_never_lower_it() -> None:
    calm = [window(1.0, 0.8, 0.8, 1.0)]
    assert learned_noise(calm * 7) == DEFAULT_NOISE
    assert learned_noise(calm * 8) == Noise(0.005, 8.0)
    assert learned_noise([window(1.0, 0.8, 0.8, 1.2), window(1.0, 0.8, 0.9, 1.0)]).tau0 > 0.02


def test_the_training_s_own_repeats_count_once_there_are_enough() -> None:
    calm, wild = noisy(0.001, 0.0, 8), noisy(0.06, 0.0, 12)
    assert noise_for(calm, calm + wild) == Noise(0.005, 8.0)
    assert noise_for(calm[:2], calm[:2] + wild).tau0 > 0.04
    assert noise_for(wild[:3], calm + wild[:3]).tau0 > 0.02
    assert noise_for([], []) == DEFAULT_NOISE
    assert noise_for([], calm) == Noise(0.005, 8.0)


def test_the_ledger_tells_a_calm_training_from_a_wild_one(tmp_path: Path) -> None:
    chance = random.Random(1)
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        for number in range(9):
            at = 10_000.0 * number
            ledger.append(line(*[launch(each, -1.0, at + place) for place, each in enumerate("ABBA")]))
            wild = [
                launch(each, -1.0 + chance.gauss(0, 0.08), at + place) for place, each in enumerate("ABBA")
            ]
            ledger.append(line(*wild, command=OTHER))
            ledger.append(line(*[launch("A", chance.gauss(0, 9), at + n) for n in range(4)], host="there"))
        assert ledger.noise("here", TRAIN) == Noise(0.005, 8.0)
        assert 0.05 < ledger.noise("here", OTHER).tau0 < 0.2
        assert 0.03 < ledger.noise("here", ["python", "new.py"]).tau0 < ledger.noise("here", OTHER).tau0
        assert ledger.noise("nowhere") == DEFAULT_NOISE


def test_a_launch_under_other_work_teaches_of_a_busy_host() -> None:
    busy = [Seen(each, -1.0, 0.001, cores) for each, cores in zip("ABBA", (2.0, 2.5, 3.0, 0.0), strict=True)]
    quiet = [Seen(each, -1.0, 0.001) for each in "ABBA"]
    assert learned_noise([busy] * 8) == Noise(0.005, 8.0, 2.0)
    assert learned_noise([busy] * 4 + [quiet] * 4).foreign_cores == 0.0
    assert learned_noise([busy] * 6 + [quiet] * 3).foreign_cores == 0.0
    seen = windows_of([line(msgspec.structs.replace(launch("A", -1.0, 0), foreign_cores=1.5))])
    assert seen[0][0].foreign_cores == 1.5


def short_of(se: float, wanted: float | None = 0.007, unix: float = 0.0) -> Launch:
    return msgspec.structs.replace(launch("A", -1.0, unix, se=se), se_wanted=wanted)


def test_what_long_launches_are_not_known_to_no_short_one_is_known_to() -> None:
    known = Noise(0.005, 8.0)
    assert no_less_than_long_launches(known, []) == known
    assert no_less_than_long_launches(known, [short_of(0.006), short_of(0.003)] * 5) == known
    found = no_less_than_long_launches(known, [short_of(0.05), short_of(0.006)])
    assert found == Noise(pytest.approx(0.05 / math.sqrt(2)), 4.0)  # type: ignore[arg-type]
    loud = Noise(0.08, 8.0)
    assert no_less_than_long_launches(loud, [short_of(0.05)]) == loud


@pytest.mark.parametrize(("se", "wanted"), [(0.035, 0.04), (0.014, 0.015), (0.014, None)])
def test_a_launch_that_ended_because_that_was_enough_says_nothing(se: float, wanted: float | None) -> None:
    assert no_less_than_long_launches(DEFAULT_NOISE, [short_of(se, wanted)] * 9) == DEFAULT_NOISE


def test_a_host_that_has_calmed_down_is_believed_again() -> None:
    launches = [short_of(0.05, unix=float(place)) for place in range(20)]
    calm = [short_of(0.005, unix=100.0 + place) for place in range(20)]
    assert no_less_than_long_launches(DEFAULT_NOISE, launches).tau0 == pytest.approx(0.05)
    assert no_less_than_long_launches(DEFAULT_NOISE, [*calm, *launches]) == DEFAULT_NOISE


def test_the_ledger_counts_noisy_launches_of_the_same_training(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.append(line(short_of(0.06), short_of(0.05, unix=9.0)))
        assert ledger.noise("here", TRAIN).tau0 == pytest.approx(math.hypot(0.06, 0.05) / math.sqrt(2))
        assert ledger.noise("here", OTHER) == DEFAULT_NOISE
        assert ledger.noise("there", TRAIN) == DEFAULT_NOISE


RESULT = Path(__file__).parents[2] / "benchmarks/results/verdict_aa_lanes_h200_host_2026-12-01.json"


def pairs_of_equal_launches() -> Iterator[tuple[list[Launch], list[Launch]]]:
    """Yield neighbouring launches of identical settings, as A and B, with the earlier ones of their chain."""
    read = msgspec.json.decode(RESULT.read_bytes(), type=dict[str, msgspec.Raw])["launches"]
    every = msgspec.json.decode(read, type=list[dict[str, msgspec.Raw]])
    chains: dict[bytes, list[Launch]] = {}
    for each in every:
        chains.setdefault(bytes(each["chain"]), []).append(msgspec.json.decode(each["launch"], type=Launch))
    for chain in chains.values():
        chain.sort(key=lambda each: each.started_unix)
        for place in range(len(chain) - 1):
            a, b = chain[place : place + 2]
            pair = [msgspec.structs.replace(a, label="A"), msgspec.structs.replace(b, label="B")]
            yield pair, chain[:place]


@pytest.mark.parametrize("known", [True, False])
def test_identical_launches_on_a_host_of_changing_speed_are_not_told_apart(known: bool) -> None:
    words = [
        judge(pair, no_less_than_long_launches(DEFAULT_NOISE, earlier if known else []), 2.0).verdict
        for pair, earlier in pairs_of_equal_launches()
    ]
    assert len(words) == 89
    assert words.count("faster") + words.count("slower") == 0
    assert words.count("too_noisy") == 81
