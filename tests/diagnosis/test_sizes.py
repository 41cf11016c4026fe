"""Sizes in the words of findings."""

import pytest

from perftui.trainer.diagnosis.evidence import size


@pytest.mark.parametrize(
    ("mib", "words"),
    [
        (16 / 2**20, "16 B"),
        (3.1 / 1024, "3.1 KiB"),
        (1023.9 / 1024, "1024 KiB"),
        (0.25, "256 KiB"),
        (1.0, "1 MiB"),
        (25.0, "25 MiB"),
        (1536.0, "1.5 GiB"),
        (0.0, "0 B"),
    ],
)
def test_a_size_has_the_unit_that_suits_it(mib: float, words: str) -> None:
    assert size(mib) == words
