"""Procedure P against a reference implementation, against frozen figures, and in its refusals."""

import importlib.util
import math
import random
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perftui.trainer.tuning.regression import Label, Noise, Point, compare
from perftui.trainer.tuning.steady import block_length, estimate_launch, find_warm_up
from perftui.trainer.tuning.student import t_quantile
from perftui.trainer.tuning.verdict import decide

PLACE = Path("shared") / "reference" / "verdict.py"
REFERENCE = next(
    (folder / PLACE for folder in Path(__file__).resolve().parents if (folder / PLACE).is_file()), None
)
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    if REFERENCE is None:
        pytest.skip(f"no {PLACE} above this checkout: the frozen figures below are checked alone")
    spec = importlib.util.spec_from_file_location("reference_verdict", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_steps(seed: int, count: int) -> list[float]:
    rng = random.Random(seed)
    level, noise = rng.uniform(-5, 1), 0.0
    steps: list[float] = []
    for index in range(count):
        noise = 0.5 * noise + rng.gauss(0, 0.05)
        slow = 1.5 if rng.random() < 0.03 else 1.0
        warm = 1 + 0.4 * math.exp(-index / 15) if seed % 2 else 1.0
        steps.append(math.exp(level + noise) * slow * warm)
    return steps


def random_points(seed: int, order: str) -> list[Point]:
    rng = random.Random(seed)
    gain = rng.choice([0.0, 0.01, 0.05, 0.3])
    return [
        Point(
            "A" if letter == "A" else "B",
            -1.0 - (gain if letter == "B" else 0) + rng.gauss(0, 0.008),
            rng.uniform(0.0005, 0.015),
            rng.uniform(2, 40),
        )
        for letter in order
    ]


ORDERS = ["AB", "ABB", "ABBA", "ABBAAB", "ABBAABBA", "ABAB"]


@pytest.mark.parametrize("seed", range(40))
def test_launches_agree_with_the_reference(reference: ModuleType, seed: int) -> None:
    workers = seed % 7
    steps = random_steps(seed, 60 + 23 * seed)
    block = block_length(workers)
    assert block == reference.block_len(workers)
    warm = find_warm_up(steps, block)
    assert (warm.first_step, warm.settled) == reference.warmup(steps, block)
    steady = steps[warm.first_step :] if len(steps) - warm.first_step >= 6 * block else steps
    if len(steady) >= 6 * block:
        found = estimate_launch(steady, block)
        assert (found.log_step_s, found.se, found.df) == pytest.approx(
            reference.segment(steady, block), rel=TOLERANCE, abs=1e-12
        )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(25))
def test_verdicts_agree_with_the_reference(reference: ModuleType, order: str, seed: int) -> None:
    points = random_points(seed, order)
    noise = Noise(*random.Random(seed).choice([(0.01, 4.0), (0.005, 8.0), (0.03, 8.0)]))
    word: str
    word, gain, lo, hi = reference.decide(
        [p.log_step_s for p in points],
        [p.se for p in points],
        [p.df for p in points],
        [p.label == "B" for p in points],
        noise.tau0,
        noise.nu0,
    )
    found = decide(points, noise)
    assert (found.effect.log_gain, found.effect.lo, found.effect.hi) == pytest.approx(
        (gain, lo, hi), rel=0, abs=TOLERANCE
    )
    told = "too_noisy" if word.startswith("too noisy") else word
    told = "repeats_disagree" if "disagree" in told else told
    assert found.word == told


MADE_STEPS = st.lists(st.floats(1e-4, 10.0), min_size=60, max_size=400)
MADE_LAUNCHES = st.lists(
    st.tuples(st.sampled_from("AB"), st.floats(-6, 3), st.floats(2e-4, 0.05), st.floats(1.5, 60.0)),
    min_size=2,
    max_size=8,
).filter(lambda made: len({label for label, *_ in made}) == 2)
MADE_NOISE = st.builds(Noise, st.floats(0.003, 0.1), st.sampled_from([4.0, 8.0]))


@given(steps=MADE_STEPS, workers=st.integers(0, 24))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_made_launches_agree_with_the_reference(
    reference: ModuleType, steps: list[float], workers: int
) -> None:
    block = block_length(workers)
    assert block == reference.block_len(workers)
    if len(steps) >= 2 * block:
        warm = find_warm_up(steps, block)
        assert (warm.first_step, warm.settled) == reference.warmup(steps, block)
    if len(steps) >= 6 * block:
        found = estimate_launch(steps, block)
        assert (found.log_step_s, found.se, found.df) == pytest.approx(
            reference.segment(steps, block), rel=TOLERANCE, abs=TOLERANCE
        )


@given(made=MADE_LAUNCHES, noise=MADE_NOISE)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_made_comparisons_agree_with_the_reference(
    reference: ModuleType, made: list[tuple[str, float, float, float]], noise: Noise
) -> None:
    points = [Point("A" if label == "A" else "B", x, se, df) for label, x, se, df in made]
    columns = [p.log_step_s for p in points], [p.se for p in points], [p.df for p in points]
    is_b = [p.label == "B" for p in points]
    word, *numbers = reference.decide(*columns, is_b, noise.tau0, noise.nu0)
    found = decide(points, noise)
    ours = (found.effect.log_gain, found.effect.lo, found.effect.hi)
    assert ours == pytest.approx(tuple(numbers), rel=TOLERANCE, abs=TOLERANCE)
    bounds = [abs(bound) for bound in (*ours[1:], ours[1] + 0.02, ours[2] - 0.02)]
    if min(bounds) > 1e-7 and max(p.se for p in points) <= 0.0199:
        told = "repeats_disagree" if "disagree" in word else word
        assert found.word == told


@pytest.mark.parametrize("df", [0.7, 1.0, 2.5, 4.0, 9.3, 30.0, 400.0])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.99, 0.9995])
def test_quantiles_agree_with_the_reference(reference: ModuleType, df: float, probability: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(reference.t_ppf(probability, df), rel=TOLERANCE)


@pytest.mark.parametrize(
    ("probability", "df", "quantile"),
    [  # printed tables
        (0.975, 1, 12.706204736),
        (0.99, 4, 3.746947388),
        (0.975, 10, 2.228138852),
        (0.99, 30, 2.457261542),
        (0.025, 10, -2.228138852),
    ],
)
def test_quantiles_of_printed_tables(probability: float, df: float, quantile: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(quantile, rel=1e-9)


@given(probability=st.floats(0.001, 0.999), df=st.floats(0.3, 1e4))
@settings(max_examples=60, deadline=None)
def test_quantiles_are_odd_and_beyond_the_normal(probability: float, df: float) -> None:
    value = t_quantile(probability, df)
    assert value == pytest.approx(-t_quantile(1 - probability, df), rel=1e-6, abs=1e-9)
    assert t_quantile(0.99, df) > 2.326


@pytest.mark.parametrize(("probability", "df"), [(0.0, 3), (1.0, 3), (0.9, 0), (float("nan"), 3)])
def test_no_quantile_of_nonsense(probability: float, df: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, df)


def points_of(order: str, *levels: float, se: float = 0.003) -> list[Point]:
    labels: list[Label] = ["A" if letter == "A" else "B" for letter in order]
    return [Point(label, level, se, 12.0) for label, level in zip(labels, levels, strict=True)]


FROZEN = [  # (order, levels, se, word, gain, lo, hi)
    ("AB", (-1.0, -1.6), 0.003, "faster", 0.6000000000000004, 0.5505033591699845, 0.6494966408300163),
    (
        "AB",
        (-1.0, -1.03),
        0.003,
        "inconclusive",
        0.030000000000000037,
        -0.01949664083001586,
        0.07949664083001594,
    ),
    (
        "ABB",
        (-1.0, -1.05, -1.06),
        0.004,
        "faster",
        0.050481927710843054,
        0.001364074503105911,
        0.0995997809185802,
    ),
    (
        "ABBA",
        (-1.0, -1.001, -0.999, -1.0),
        0.0005,
        "inconclusive",
        -2.9307837474499117e-16,
        -0.03012406226099825,
        0.030124062260997668,
    ),
    (
        "ABBA",
        (-1.0, -0.93, -0.94, -1.01),
        0.004,
        "slower",
        -0.06999999999999978,
        -0.09940543762820012,
        -0.04059456237179945,
    ),
    (
        "ABBA",
        (-1.0, -1.3, -1.31, -1.2),
        0.003,
        "repeats_disagree",
        0.20500000000000027,
        0.08447217101517186,
        0.3255278289848287,
    ),
    (
        "ABBA",
        (-1.0, -1.3, -1.31, -1.0),
        0.03,
        "too_noisy",
        0.30500000000000016,
        0.22990158814149844,
        0.3800984118585019,
    ),
    (
        "ABBAABBA",
        (-1.0, -1.03, -1.02, -0.99, -1.0, -1.03, -1.04, -1.01),
        0.006,
        "faster",
        0.0300000000000004,
        0.013504387987619743,
        0.04649561201238106,
    ),
]


@pytest.mark.parametrize(("order", "levels", "se", "word", "gain", "lo", "hi"), FROZEN)
def test_frozen_verdicts(
    order: str, levels: tuple[float, ...], se: float, word: str, gain: float, lo: float, hi: float
) -> None:
    found = decide(points_of(order, *levels, se=se))
    assert found.word == word
    assert (found.effect.log_gain, found.effect.lo, found.effect.hi) == pytest.approx(
        (gain, lo, hi), abs=TOLERANCE
    )


def test_frozen_launch() -> None:
    steps = [0.1 + 0.01 * ((index * 7) % 11) for index in range(130)]
    warm = find_warm_up(steps, 10)
    assert (warm.first_step, warm.settled) == (10, True)
    found = estimate_launch(steps[10:], 10)
    assert (found.log_step_s, found.se, found.df, found.blocks) == pytest.approx(
        (-1.8997231131800196, 0.007576473181069592, 7.0, 12), abs=TOLERANCE
    )


def test_too_few_blocks_are_an_error() -> None:
    with pytest.raises(ValueError, match="5 blocks of 10 steps; 6 are needed"):
        estimate_launch([0.1] * 59, 10)


def test_block_follows_the_workers() -> None:
    assert [block_length(workers) for workers in (0, 1, 2, 3, 4, 16)] == [10, 10, 10, 12, 12, 16]


def test_an_epoch_start_does_not_end_the_steady_part_but_a_level_shift_does() -> None:
    spike = [1.0] * 10 + [0.1] * 40 + [0.8] * 10 + [0.1] * 90
    assert find_warm_up(spike, 10).first_step == 10
    shift = [0.1] * 80 + [0.13] * 80
    warm = find_warm_up(shift, 10)
    assert not warm.settled


def test_one_setting_alone_is_no_comparison() -> None:
    with pytest.raises(ValueError, match="each setting"):
        decide(points_of("AA", -1.0, -1.0))


def test_interval_widens_with_the_noise_of_the_host() -> None:
    points = points_of("ABBA", -1.0, -1.05, -1.05, -1.0)
    quiet, loud = compare(points, Noise(0.005, 8)), compare(points, Noise(0.03, 8))
    assert quiet.hi - quiet.lo < loud.hi - loud.lo
    assert decide(points, Noise(0.005, 8)).word == "faster"
    assert decide(points, Noise(0.03, 8)).word == "inconclusive"


def test_an_obvious_win_passes_the_gate_only_where_nobody_else_computes() -> None:
    noisy = points_of("ABBA", -1.0, -1.6, -1.55, -1.02, se=0.05)
    assert decide(noisy).word == "too_noisy"
    found = decide(noisy, uncontended=True)
    assert (found.word, found.obvious) == ("faster", True)
    assert decide(noisy[:3], uncontended=True).word == "too_noisy"
    weak = points_of("ABBA", -1.0, -1.25, -1.22, -1.02, se=0.05)
    assert decide(weak, uncontended=True).word == "too_noisy"


@pytest.mark.parametrize(
    ("after", "se", "uncontended", "word"),
    [
        (-1.92, 0.05, True, "faster"),  # 2.51 times as fast
        (-1.91, 0.05, True, "too_noisy"),  # 2.48 times
        (-2.10, 0.05, False, "too_noisy"),
        (-2.10, 0.10, True, "too_noisy"),  # eight errors are 1.13
        (-0.30, 0.05, True, "too_noisy"),  # half as fast: never by this exception
    ],
)
def test_two_and_a_half_times_the_speed_shows_in_two_launches(
    after: float, se: float, uncontended: bool, word: str
) -> None:
    found = decide(points_of("AB", -1.0, after, se=se), uncontended=uncontended)
    assert (found.word, found.obvious) == (word, word == "faster")


@given(
    levels=st.lists(st.floats(-6, 3), min_size=4, max_size=4),
    shift=st.floats(-3, 3),
    se=st.floats(0.0005, 0.02),
)
@settings(max_examples=80, deadline=None)
def test_units_of_time_do_not_matter(levels: list[float], shift: float, se: float) -> None:
    plain = compare(points_of("ABBA", *levels, se=se))
    moved = compare(points_of("ABBA", *[level + shift for level in levels], se=se))
    assert moved.log_gain == pytest.approx(plain.log_gain, abs=1e-7)
    assert moved.hi - moved.lo == pytest.approx(plain.hi - plain.lo, rel=1e-6)
