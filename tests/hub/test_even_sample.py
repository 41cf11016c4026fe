"""Readings without number, kept at equal distances."""

import pytest

from perftui.trainer.hub.even_sample import EvenSample


@pytest.mark.parametrize(
    ("count", "kept"),
    [
        (0, []),
        (8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, [0, 2, 4, 6, 8]),
        (16, [0, 2, 4, 6, 8, 10, 12, 14]),
        (17, [0, 4, 8, 12, 16]),
        (100, [0, 16, 32, 48, 64, 80, 96]),
    ],
)
def test_readings_lie_at_equal_distances_from_the_first_on(count: int, kept: list[int]) -> None:
    sample: EvenSample[int] = EvenSample(8)
    for number in range(count):
        sample.add(number)
    assert sample.kept == kept
