"""A launcher goes on with fewer ranks, or with more (`torchrun --nnodes=1:2 --max-restarts`)."""

from pathlib import Path

import pytest

from benchmarks.simulator.job import Job
from perftui.ipc.dashboard_messages import MANY_RANKS, ProfileCommand
from perftui.ipc.messages import FromRank
from perftui.ipc.recording import Entry
from perftui.trainer.hub import server as served_by
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.limits import Limits
from perftui.trainer.hub.profile_windows import ProfileWindows
from perftui.trainer.hub.server import DashboardServer

from .made_messages import START_UNIX, batch, description, hello
from .test_many_ranks import PlayedRun, by_rank, pull


def job(*, ranks: int, pid: int, at: float = START_UNIX) -> list[Entry]:
    """All ranks of an attempt say hello, the last first, and do five steps."""
    order = range(ranks - 1, -1, -1)
    greeted: list[FromRank] = [hello(rank, pid=pid + rank, world_size=ranks) for rank in order]
    stepped: list[FromRank] = [batch(0, 5, 1, rank=rank) for rank in order]
    return [Entry(unix=at, message=message) for message in (*greeted, *stepped)]


@pytest.mark.parametrize("sizes", [(8, 4), (8, 1), (4, 8), (8, 4, 8), (4, 8, 2), (8, 8)])
def test_an_elastic_restart_has_the_ranks_of_its_attempt_alone(sizes: tuple[int, ...]) -> None:
    fold = RunFold()
    for number, size in enumerate(sizes):
        for entry in job(ranks=size, pid=1000 * (number + 1)):
            fold.apply(entry)
        more = [batch(5, 10 * number, 2, rank=rank) for rank in range(size) if number]
        for message in more:
            fold.apply(Entry(unix=START_UNIX, message=message))
    last = len(sizes) - 1
    assert sorted(fold.ranks) == list(range(sizes[-1]))
    assert fold.world_size() == sizes[-1]
    assert fold.steps_done() == 5 + 10 * last
    assert {track.hello.pid // 1000 for track in fold.ordered} == {last + 1}
    assert {track.attempt for track in fold.ordered} == {last + 1}
    assert [each.steps for each in fold.past_attempts] == [5 + 10 * number for number in range(last)]
    assert fold.attempt == last + 1
    assert Limits(description(steps_limit=5 + 10 * last - 10)).reached(fold, START_UNIX) == "steps"


def test_ranks_that_an_elastic_restart_left_behind_are_kept_as_past_ones() -> None:
    fold = RunFold()
    for entry in (*job(ranks=4, pid=100), *job(ranks=2, pid=200)):
        fold.apply(entry)
    assert sorted(track.hello.rank for track in fold.past) == [0, 1, 2, 3]
    assert {track.hello.pid for track in fold.past} == {100, 101, 102, 103}


def test_a_window_does_not_wait_for_ranks_that_have_left(tmp_path: Path) -> None:
    fold = RunFold()
    for entry in job(ranks=4, pid=100):
        fold.apply(entry)
    windows = ProfileWindows(fold, tmp_path, now=lambda: START_UNIX)
    windows.begin(ProfileCommand(command_id="", steps=1))
    windows.tick()
    for entry in job(ranks=2, pid=200):
        fold.apply(entry)
    windows.tick()
    (view,) = windows.views()
    assert [each.rank for each in view.ranks] == [0, 1]
    assert windows.cancel() == view.window_id
    told = {rank for rank, _ in windows.take_orders()}
    assert {0, 1} <= told


def test_dashboards_are_told_of_the_ranks_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = PlayedRun(Job(run_id="many", ranks=1, steps_per_s=1.0), 0.0, tmp_path)
    run.fold = RunFold()
    server = DashboardServer(run)  # type: ignore[arg-type]
    before, after = MANY_RANKS + 6, MANY_RANKS + 2
    for entry in job(ranks=before, pid=1000):
        run.fold.apply(entry)
    first = pull(server, 0, (after + 1,), anew=True)
    assert sorted(by_rank(first)) == list(range(before))
    monkeypatch.setattr(served_by, "_PICTURE_S", 3600.0)  # asked again before all are looked at anew
    for entry in job(ranks=after, pid=2000):
        run.fold.apply(entry)
    assert max(by_rank(pull(server, 0, (after + 1,), anew=True))) < after
    monkeypatch.setattr(served_by, "_PICTURE_S", 0.0)
    monkeypatch.setattr(served_by, "_PICTURE_COSTS", 0.0)
    update = pull(server, first.number, (3,))
    assert update.snapshot, "else the ranks that have left would stay in the picture"
    assert sorted(by_rank(update)) == list(range(after))
