"""Numbers as a person reads them: what differs by more than half a percent looks different."""

import math

import pytest

from perftui.ipc.figures import beside, decimals, figure


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00"),
        (4.21e-6, "4.21e-6"),
        (61820046280064170006553821184.0, "6.18e28"),
        (-9.999e30, "-1.00e31"),
        (9_999_999.0, "9999999"),
        (0.00009996, "1.00e-4"),
        (0.0005, "0.000500"),
        (0.00421, "0.00421"),
        (0.0421, "0.0421"),
        (0.421, "0.421"),
        (0.9996, "1.00"),
        (4.21, "4.21"),
        (9.996, "10.0"),
        (42.1, "42.1"),
        (99.96, "100"),
        (421.4, "421"),
        (4210.4, "4210"),
        (-0.0421, "-0.0421"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_three_digits_count(value: float, shown: str) -> None:
    assert figure(value) == shown


def test_nothing_measured_is_a_zero_and_nothing_is_wide() -> None:
    for power in range(-120, 60):
        value = 10 ** (power / 10) * 1.07
        assert float(figure(value)) == pytest.approx(value, rel=0.0051), value
        assert len(figure(value)) <= 8, value


def test_large_values_keep_the_digits_that_a_column_has() -> None:
    assert [figure(value, 1) for value in (0.0421, 4.21, 42.1, 142.34)] == ["0.0421", "4.21", "42.1", "142.3"]
    assert [decimals(value) for value in (0.0, 0.0421, 4.21, 42.1, 421.0, 4210.0)] == [2, 4, 2, 1, 0, 0]


def test_figures_beside_each_other_have_the_same_digits_but_for_a_trifle() -> None:
    assert [beside(value, 1) for value in (20.5, 1.24, 0.04, 0.0)] == ["20.5", "1.2", "0.0400", "0.0"]
