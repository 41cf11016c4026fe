"""Ranks over steps against figures worked out by hand."""

import pytest

from perftui.ipc.messages import FLAG_COMPILING
from perftui.trainer.hub import rank_blocks
from perftui.trainer.hub.rank_blocks import rank_map
from tests.tui.page_scenes import uneven_logs


def test_the_excess_is_over_the_median_rank_in_the_same_step() -> None:
    found = rank_map(uneven_logs(4, 40, {1: 15.0, 3: 6.0}), 0, None, 4, 32, "before")
    assert (found.block_steps, found.looked_steps, found.ranks) == (10, 10, 4)
    assert found.median_ms == [100.0] * 4
    # own times 60, 75, 60, 66: the lower of the two in the middle is 60
    assert [band.excess_ms for band in found.bands] == [
        pytest.approx([value] * 4) for value in (0.0, 15.0, 0.0, 6.0)
    ]
    assert [band.mean_share for band in found.bands] == pytest.approx([0.0, 0.15, 0.0, 0.06])
    assert [band.rank for band in found.bands] == [[rank] * 4 for rank in range(4)]


def test_whole_steps_of_ranks_that_keep_step_are_alike() -> None:
    found = rank_map(uneven_logs(4, 40, {1: 15.0}), 0, None, 4, 32, "step")
    assert {value for band in found.bands for value in band.excess_ms} == {0.0}


def test_waits_for_the_loader_are_compared_by_themselves() -> None:
    found = rank_map(uneven_logs(2, 40, {1: 15.0}), 0, None, 4, 32, "wait")
    assert [band.excess_ms for band in found.bands] == [pytest.approx([0.0] * 4), pytest.approx([15.0] * 4)]


def test_a_band_has_the_latest_of_its_ranks() -> None:
    found = rank_map(uneven_logs(64, 20, {37: 20.0, 38: 4.0}), 0, None, 5, 8, "before")
    assert [(band.first_rank, band.last_rank) for band in found.bands[:2]] == [(0, 7), (8, 15)]
    assert [band.worst_rank for band in found.bands if band.first_rank == 32] == [37]
    assert found.bands[4].rank == [37] * 5
    assert found.bands[4].excess_share == pytest.approx([0.2] * 5)
    assert max(share or 0.0 for band in found.bands[:4] for share in band.excess_share) == 0.0


def test_steps_that_a_rank_lacks_or_that_are_unusual_do_not_count() -> None:
    logs = uneven_logs(2, 20, {1: 10.0})
    rows = list(logs[1].raw)
    logs[1].raw.clear()
    logs[1].raw.extend(
        [
            row._replace(flags=FLAG_COMPILING) if row.step < 5 else row
            for row in rows
            if row.step not in (7, 12)
        ]
    )
    found = rank_map(logs, 0, None, 20, 32, "before")
    known = [step for step, value in enumerate(found.median_ms) if value is not None]
    assert known == [5, 6, 8, 9, 10, 11, *range(13, 20)]
    assert found.bands[1].excess_ms[4] is None
    assert found.bands[1].rank[4] == -1


def test_of_many_ranks_some_steps_of_each_block_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_blocks, "LOOKS_MAX", 16 * 10 * 2)
    found = rank_map(uneven_logs(16, 100, {3: 30.0}), 0, None, 10, 32, "before")
    assert (found.block_steps, found.looked_steps) == (10, 2)
    assert found.bands[3].excess_share == pytest.approx([0.3] * 10)


def test_the_newest_step_is_that_of_the_slowest_rank() -> None:
    logs = uneven_logs(2, 30, {}) | {2: uneven_logs(1, 18, {})[0]}
    found = rank_map(logs, 0, None, 100, 32, "before")
    assert (found.last_step, found.newest_step, len(found.median_ms)) == (17, 17, 18)
    earlier = rank_map(logs, 4, 9, 100, 32, "before")
    assert (earlier.first_step, earlier.last_step, earlier.newest_step) == (4, 9, 17)


def test_one_rank_has_nobody_to_be_compared_with() -> None:
    found = rank_map(uneven_logs(1, 30, {}), 0, None, 3, 32, "before")
    assert found.ranks == 1
    assert found.bands[0].excess_ms == [0.0] * 3
