"""A short part of `make fuzz`, the same each time: some 20,000 wrong inputs, a third over real sockets."""

from collections import Counter
from pathlib import Path

import pytest

from . import hub_under_fire, seeds
from .__main__ import over_sockets, within
from .reasons import kept
from .targets import targets

COUNTS = {
    "from_rank": 3000, "to_rank": 1000, "from_dashboard": 2000, "to_dashboard": 1500, "fold": 4000,
    "questions": 500, "sampler": 500, "recording": 300, "replay": 40, "records": 200, "trace": 60,
    "output": 500,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_wrong_input_is_refused_and_does_nothing_worse(name: str) -> None:
    found = within(name, COUNTS[name], seed=8)
    assert found.total() == COUNTS[name]
    if name != "output":  # every text is output
        assert 0.05 < found["refused"] / found.total() < 0.999


def test_a_real_hub_takes_no_command_that_is_none_and_goes_on(runtime_dirs: object) -> None:
    told = over_sockets(ranks=4000, dashboards=2500, below=40, seed=8)
    assert told["serves"]
    assert told["same process"]
    assert told["took effect"] == []
    dashboards, memory = told["dash.sock"], told["rss_mib"]
    assert isinstance(dashboards, dict)
    assert isinstance(memory, dict)
    assert dashboards["accepted"] > 10  # what was well-formed still is answered
    assert dashboards["mismatch"] > 500
    assert "wrongly taken" not in dashboards
    assert memory["after"] - memory["before"] < 150
    assert "unreadable" in str(told["not taken"])


def test_the_corpus_is_small_and_real() -> None:
    size = sum(path.stat().st_size for path in seeds.CORPUS.rglob("*") if path.is_file())
    assert size < 200 * 1024
    assert len(Counter(map(len, seeds.recorded()))) > 10


def test_what_is_a_command_is_told_by_other_means_than_the_hub_s() -> None:
    found = [hub_under_fire.is_command(frame) for frame in seeds.FROM_DASHBOARD]
    assert found.count(True) == len(found) - 2  # pull and seek
    assert not hub_under_fire.is_command(b"\xc1" + seeds.FROM_DASHBOARD[1])


def test_seeds_are_taken_as_they_are(tmp_path: Path) -> None:

    found = targets(tmp_path)
    for name, frames in (
        ("from_rank", [*seeds.FROM_RANK, *seeds.recorded()]),
        ("to_rank", seeds.TO_RANK),
        ("from_dashboard", seeds.FROM_DASHBOARD),
        ("to_dashboard", seeds.TO_DASHBOARD),
    ):
        assert [found[name](frame) for frame in frames] == ["taken"] * len(frames)


@pytest.mark.parametrize("name", kept())
def test_for_each_reason_that_was_ever_met_an_input_is_refused_still(name: str, tmp_path: Path) -> None:
    target = targets(tmp_path)[name]
    inputs = kept()[name]
    assert len(inputs) > 5
    assert [target(data) for data in inputs] == ["refused"] * len(inputs)
