"""The offset of two clocks: right within its own error, whatever the ways take; steps are noticed."""

import random

from hypothesis import given
from hypothesis import strategies as st

from perftui.ipc.clock_offset import OffsetEstimate

MS = 1_000_000


def _exchange(estimate: OffsetEstimate, at_ns: int, offset_ns: int, there_ns: int, back_ns: int) -> None:
    """One request at `at_ns` of this clock, answered after 0.1 ms."""
    received = at_ns + there_ns + offset_ns
    answered = received + MS // 10
    estimate.add(at_ns, received, answered, answered - offset_ns + back_ns, at_ns)


def test_there_is_none_before_the_first_exchange() -> None:
    assert OffsetEstimate().best(0) is None


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 500 * MS), st.integers(0, 500 * MS)), min_size=1, max_size=60),
)
def test_the_truth_lies_within_the_error(offset_ns: int, ways: list[tuple[int, int]]) -> None:
    estimate = OffsetEstimate()
    for number, (there_ns, back_ns) in enumerate(ways):
        _exchange(estimate, number * 500 * MS, offset_ns, there_ns, back_ns)
        best = estimate.best(number * 500 * MS)
        assert best is not None
        assert abs(best.offset_ns - offset_ns) <= best.error_ns + 1


def test_one_quick_exchange_among_slow_ones_is_believed() -> None:
    estimate, rng = OffsetEstimate(), random.Random(1)
    for number in range(20):
        slow = 0 if number == 7 else rng.randrange(20 * MS, 50 * MS)
        _exchange(estimate, number * 500 * MS, 3 * MS, MS // 10 + slow, MS // 10)
    best = estimate.best(20 * 500 * MS)
    assert best is not None
    assert abs(best.offset_ns - 3 * MS) < MS // 2
    assert best.round_trip_ns == MS // 5


def test_a_stepped_clock_is_followed() -> None:
    estimate = OffsetEstimate()
    for number in range(10):
        _exchange(estimate, number * 500 * MS, 0, MS, MS)
    _exchange(estimate, 5000 * MS, 10_000 * MS, MS, MS)
    best = estimate.best(5000 * MS)
    assert best is not None
    assert abs(best.offset_ns - 10_000 * MS) <= best.error_ns


def test_an_error_grows_with_age() -> None:
    estimate = OffsetEstimate()
    _exchange(estimate, 0, 0, MS, MS)
    young, old = estimate.best(0), estimate.best(1000 * 10**9)
    assert young is not None
    assert old is not None
    assert old.error_ns - young.error_ns == 15 * MS
