"""A run of more ranks than anybody looks at: what dashboards are told of them, and what that takes."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.simulator.job import Job
from perftui.ipc.codec import MAX_FRAME_BYTES, encode
from perftui.ipc.dashboard_messages import MANY_RANKS, Pull
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.trainer.hub import server as served_by
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.ranks_together import ranks_together
from perftui.trainer.hub.server import DashboardServer
from perftui.tui.state import POINTS_MAX, DashboardState, apply
from tests.hub.played_run import PlayedRun, by_rank, pull

RANKS = MANY_RANKS + 6


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedRun:
    monkeypatch.setattr(served_by, "_PICTURE_S", 0.0)
    monkeypatch.setattr(served_by, "_PICTURE_COSTS", 0.0)
    return PlayedRun(Job(run_id="many", ranks=RANKS, steps_per_s=40.0), 6.0, tmp_path)


def test_a_snapshot_is_full_for_who_is_looked_at_and_brief_for_the_rest(run: PlayedRun) -> None:
    run.play(5.0)
    update = pull(DashboardServer(run), 0, (3,), anew=True)  # type: ignore[arg-type]
    views = by_rank(update)
    assert len(views) == RANKS
    assert (update.closer, update.anew) == ([3], True)
    assert (views[3].brief, views[4].brief) == (False, True)
    assert views[3].facts is not None
    assert views[3].losses
    assert views[4].facts is None
    assert views[4].settings == views[3].settings  # what a table of settings needs comes once
    assert views[4].step_ms is not None
    points = {part.rank: 0 for part in update.history}
    for part in update.history:
        points[part.rank] += len(part.wall_ms)
    assert points[3] > points[4] == 64
    assert {mark.rank for mark in update.marks} == {3}


def test_increments_are_brief_and_say_facts_only_of_who_is_looked_at(run: PlayedRun) -> None:
    server = DashboardServer(run)  # type: ignore[arg-type]
    run.play(3.0)
    first = pull(server, 0, (3,), anew=True)
    run.play(4.2)
    update = pull(server, first.number, (3,))
    views = by_rank(update)
    assert not update.snapshot
    assert views[3].facts is not None
    assert views[4].brief
    assert (views[4].facts, views[4].settings, views[4].losses) == (None, {}, [])
    state = apply(apply(DashboardState(run_id="many"), first), update)
    assert all(view.settings for view in state.ranks)
    assert state.ranks[4].steps == views[4].steps > by_rank(first)[4].steps


def test_another_rank_is_told_in_full_as_soon_as_it_is_looked_at(run: PlayedRun) -> None:
    server = DashboardServer(run)  # type: ignore[arg-type]
    run.play(4.0)
    first = pull(server, 0, (3,), anew=True)
    state = apply(DashboardState(run_id="many"), first)
    run.play(4.1)
    update = pull(server, first.number, (9,), anew=True)
    state = apply(state, update)
    assert state.ranks[9].facts is not None
    whole = run.fold.ranks[9].log
    assert state.track(9).step == tuple(range(len(whole)))[-POINTS_MAX:]
    assert {mark.rank for mark in state.marks} == {9}
    assert state.ranks[3].facts is not None  # kept, if older


def test_gpus_and_hosts_are_told_when_they_were_read_anew(run: PlayedRun) -> None:
    server = DashboardServer(run)  # type: ignore[arg-type]
    run.play(4.05)
    first = pull(server, 0, (0,), anew=True)
    assert first.view.gpus is not None
    assert len(first.view.gpus) == RANKS
    run.play(4.2)
    assert pull(server, first.number, (0,)).view.gpus is None
    run.play(5.1)
    newest = pull(server, first.number, (0,))
    assert newest.view.gpus is not None
    assert newest.view.hosts


def test_of_few_ranks_all_is_told_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_by, "_PICTURE_S", 0.0)
    monkeypatch.setattr(served_by, "_PICTURE_COSTS", 0.0)
    run = PlayedRun(Job(run_id="many", ranks=2, steps_per_s=20.0), 4.0, tmp_path)
    run.play(3.0)
    update = pull(DashboardServer(run), 0, (0,), anew=True)  # type: ignore[arg-type]
    assert [view.brief for view in update.view.ranks] == [False, False]
    assert all(view.facts is not None for view in update.view.ranks)
    assert (update.closer, update.anew) == ([], False)


def test_frames_of_a_thousand_ranks_stay_far_below_the_limit(tmp_path: Path) -> None:
    run = PlayedRun(Job(run_id="many", ranks=200, steps_per_s=40.0), 4.0, tmp_path)
    run.play(4.0)
    server = DashboardServer(run)  # type: ignore[arg-type]
    (reply,) = server.take(b"peer", encode(Pull(protocol=PROTOCOL_VERSION, closer=[0], anew=True)))
    each = len(encode(reply.message)) / 200
    assert 4096 * each < MAX_FRAME_BYTES


def test_what_is_remembered_of_many_ranks_is_bounded(run: PlayedRun) -> None:
    run.play(1.5)
    increments = Increments()
    for track in list(run.fold.ranks.values()):
        for copy in range(1, 20):
            run.fold.ranks[track.hello.rank + copy * 1000] = track
    first = newest = increments.advance(run.fold)
    for _ in range(400):
        newest = increments.advance(run.fold)
    assert not increments.is_known(first)
    assert increments.is_known(newest - 50)


def test_together_they_have_states_and_medians(run: PlayedRun) -> None:
    run.play(5.0)
    views = list(by_rank(pull(DashboardServer(run), 0)).values())  # type: ignore[arg-type]
    views = [msgspec.structs.replace(view, now_ms=float(view.rank), state="training") for view in views]
    views[0] = msgspec.structs.replace(views[0], state="silent", now_ms=1e6)
    together = ranks_together(views)
    assert together is not None
    assert together.states == {"silent": 1, "training": RANKS - 1}
    assert together.medians["now_ms"] == RANKS / 2
    assert 0 < together.medians["forward"] < 1
    assert "tokens_per_s" not in together.medians
    assert ranks_together([]) is None


def test_a_hub_that_is_behind_says_so_and_calls_no_run_stalled(run: PlayedRun) -> None:
    late_s = 90.0
    for entry in run.entries:
        run.fold.apply(msgspec.structs.replace(entry, unix=entry.unix + late_s))
    run.entries.clear()
    run.play(6.0 + late_s)
    header = pull(DashboardServer(run), 0).view.header  # type: ignore[arg-type]
    assert header.state == "training"
    assert header.message is not None
    assert "perftui is 90 s behind the ranks" in header.message


def test_a_hub_that_keeps_up_says_nothing_and_a_run_that_stalls_is_called_stalled(run: PlayedRun) -> None:
    run.play(6.0)
    assert pull(DashboardServer(run), 0).view.header.message is None  # type: ignore[arg-type]
    run.play(90.0)
    assert pull(DashboardServer(run), 0).view.header.state == "stalled"  # type: ignore[arg-type]
