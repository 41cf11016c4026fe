"""Bounds and expectations of more workers, and the price of proving them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perftui.trainer.tuning.predictor import (
    STOPPING_S,
    estimate_trials,
    propose_workers,
    share_of_rest_s,
    startup_of,
)


def test_inline_loader_on_many_cores_reaches_the_compute_time() -> None:
    found = propose_workers(100.0, 0.8, 0, 64, 1, 1.0)
    assert found is not None
    assert found.num_workers == math.ceil(1.3 * 80 / 20)
    assert found.bound == pytest.approx(5.0)
    assert found.expected == pytest.approx(5.0)


def test_two_cores_share_workers_and_compute() -> None:
    found = propose_workers(100.0, 0.8, 0, 2, 1, 1.0)
    assert found is not None
    assert found.num_workers == 2
    assert found.bound == pytest.approx(5.0)
    assert found.expected == pytest.approx(2.0)  # 100 ms of work over two cores


def test_compute_on_all_cores_leaves_less_to_gain() -> None:
    found = propose_workers(100.0, 0.7, 0, 2, 1, 1.0, run_busy=1.3)
    assert found is not None
    assert found.expected == pytest.approx(2 / 1.3)


def test_threads_that_spin_beside_an_inline_loader_are_not_all_work() -> None:
    """An H200 with 16 cores: 1,015 ms, 95 % of them for the loader; 16 workers made it 5.7 times as fast."""
    found = propose_workers(1015.0, 0.946, 0, 16, 1, 1.0, 15.0, on_gpu=True)
    assert found is not None
    assert found.num_workers == 16
    assert found.expected == pytest.approx(16 / math.sqrt(15))
    on_cpu = propose_workers(1015.0, 0.946, 0, 16, 1, 1.0, 15.0)
    assert on_cpu is not None
    assert on_cpu.expected == pytest.approx(16 / 15)


def test_a_loader_that_waits_for_storage_is_not_limited_by_cores() -> None:
    found = propose_workers(100.0, 0.9, 0, 2, 1, 0.15)
    assert found is not None
    assert found.expected == pytest.approx(100 / 45)


def test_saturated_workers_count_as_busy() -> None:
    found = propose_workers(100.0, 0.5, 4, 32, 1, 0.5)
    assert found is not None
    assert found.num_workers == math.ceil(1.3 * 400 / 50)
    assert found.expected == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("wait_share", "num_workers", "cpus", "ranks", "cpu_share"),
    [
        (0.04, 0, 16, 1, 1.0),  # no wait to speak of
        (0.5, 2, 2, 1, 0.5),  # both cores work already
        (0.8, 0, 1, 1, 1.0),  # one core: nothing to overlap with
        (0.8, 0, 2, 2, 1.0),  # a core a rank
        (0.5, 8, 8, 1, None),  # as many workers as cores
        (0.5, 0, 0, 1, None),
        (float("nan"), 0, 4, 1, None),
    ],
)
def test_nothing_is_proposed_where_it_cannot_help(
    wait_share: float, num_workers: int, cpus: float, ranks: int, cpu_share: float | None
) -> None:
    assert propose_workers(100.0, wait_share, num_workers, cpus, ranks, cpu_share) is None


@given(
    step_ms=st.floats(0.1, 1e5),
    wait_share=st.floats(0, 1),
    num_workers=st.integers(0, 64),
    cpus=st.floats(0.5, 256),
    ranks=st.integers(1, 8),
    cpu_share=st.none() | st.floats(0, 1),
    run_busy=st.none() | st.floats(0, 256),
)
def test_expected_never_exceeds_the_bound_and_workers_grow(
    step_ms: float,
    wait_share: float,
    num_workers: int,
    cpus: float,
    ranks: int,
    cpu_share: float | None,
    run_busy: float | None,
) -> None:
    found = propose_workers(step_ms, wait_share, num_workers, cpus, ranks, cpu_share, run_busy)
    if found is None:
        return
    assert 1.02 <= found.expected <= found.bound * (1 + 1e-9)
    assert num_workers < found.num_workers <= max(1, cpus / ranks)


def test_price_of_the_trials() -> None:
    price = estimate_trials(10.0, 200.0, 2.0, 2, steps_cap=200)
    assert price.shortest_s == pytest.approx(2 * 13 + 90 * 0.2 + 90 * 0.1)
    assert price.longest_s == pytest.approx(4 * (30 + 200 * 0.2 + 3))


def test_at_most_is_what_launches_are_held_to() -> None:
    """Each ends at its share of it, whatever the others took; what one leaves over goes to the next ones."""
    most_s = estimate_trials(20.0, 400.0, None).longest_s
    assert most_s == pytest.approx(4 * (2 * 20 + 600 * 0.4 + 3))
    spent_s = 0.0
    for left in (4, 3, 2, 1):
        spent_s += share_of_rest_s(most_s, spent_s, left) + STOPPING_S
    assert spent_s == pytest.approx(most_s)
    assert share_of_rest_s(400.0, 0.0, 4) == pytest.approx(97.0)
    assert share_of_rest_s(400.0, 40.0, 3) == pytest.approx(117.0)
    assert share_of_rest_s(400.0, 500.0, 1) == 0.0


def test_very_short_steps_take_the_fewest_seconds_of_a_launch() -> None:
    price = estimate_trials(10.0, 1.0, None)
    assert price.shortest_s == pytest.approx(2 * (13 + 5))
    assert price.longest_s == pytest.approx(4 * (30 + 30 + 3))


def test_long_steps_do_not_make_a_launch_longer_than_its_cap() -> None:
    price = estimate_trials(10.0, 60_000.0, None, seconds_cap=600.0)
    assert price.longest_s == pytest.approx(4 * (30 + 600 + 3))
    assert price.shortest_s <= price.longest_s


def test_a_change_that_compiles_may_take_longer_to_start() -> None:
    plain, compiled = (estimate_trials(10.0, 100.0, None, compiles=each) for each in (False, True))
    assert compiled.longest_s == plain.longest_s + 600.0


def test_startup_is_what_the_steps_do_not_explain() -> None:
    assert startup_of(30.0, 100, 200.0) == pytest.approx(10.0)
    assert startup_of(10.0, 100, 200.0) == 0.0
