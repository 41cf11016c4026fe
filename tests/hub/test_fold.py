"""The fold: the same messages give the same state, live or from a recording."""

import time
from pathlib import Path
from typing import cast

import pytest

from perftui.ipc.codec import encode
from perftui.ipc.dashboard_messages import Pull, Update
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_EXPLICIT_BOUNDARY,
    FLAG_LOADER_BOUNDARY,
    PROTOCOL_VERSION,
    FromRank,
    Goodbye,
    LossSample,
    RankEvent,
)
from perftui.ipc.messages import Effective as EffectiveSettings
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.run_files import ExitRecord
from perftui.ipc.view import ProfileView
from perftui.trainer.hub.console import OutputTail
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.limits import Limits
from perftui.trainer.hub.served import ServedRun
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.views import header, rank_view
from tests.hub.made_messages import START_UNIX, WALL_NS, batch, description, facts, folded, hello
from tests.made_loader import made_loader


def test_a_rank_without_hello_is_asked_for_it() -> None:
    fold = RunFold()
    assert not fold.apply(Entry(unix=0.0, message=batch(0, 5, 3)))
    assert fold.strangers == 1
    assert fold.apply(Entry(unix=0.0, message=hello()))
    assert fold.apply(Entry(unix=0.0, message=batch(0, 5, 1)))


def test_lost_frames_are_counted_from_the_sequence() -> None:
    fold = folded(hello(), batch(0, 5, 1), batch(20, 5, 4, dropped=10))
    track = fold.ranks[0]
    assert track.lost_frames == 2
    assert track.dropped == 10
    assert len(track.log) == 25


def test_the_summary_has_what_was_lost() -> None:
    fold = folded(hello(), batch(0, 5, 1), batch(20, 5, 4, dropped=10), hello(1), batch(0, 5, 1, rank=1))
    told = summarise(fold, facts(), START_UNIX + 1, [], None, 0)
    assert [(each.dropped, each.lost_frames) for each in told.ranks] == [(10, 2), (0, 0)]


def test_the_same_process_may_say_hello_again_without_losing_history() -> None:
    fold = folded(hello(), batch(0, 5, 1), hello(seq=2), batch(5, 5, 3))
    assert len(fold.ranks[0].log) == 10
    assert fold.ranks[0].lost_frames == 0
    assert fold.past == []


def test_a_restarted_rank_begins_anew_and_the_old_attempt_is_kept() -> None:
    fold = folded(hello(), batch(0, 5, 1), hello(pid=200), batch(0, 3, 1))
    assert len(fold.ranks[0].log) == 3
    assert [len(track.log) for track in fold.past] == [5]


def test_views_hold_what_was_folded() -> None:
    loader = made_loader(batches_per_epoch=200)
    effective = EffectiveSettings(
        run_id="r", host="h", rank=0, seq=1, settings={"loader.num_workers": 0}, failed={}, loader=loader
    )
    loss = LossSample(run_id="r", host="h", rank=0, seq=3, step=40, value=2.5)
    fold = folded(hello(), effective, batch(0, 50, 2, flags=FLAG_EPOCH_START), loss)
    now = START_UNIX + 1.0
    view = rank_view(fold.ranks[0], now, ["input.workers"], 7)
    assert view.steps == 50
    assert view.state == "training"
    assert view.now_ms == pytest.approx(10.0)
    assert view.shares.loader_wait == pytest.approx(0.5)
    assert view.settings == {"loader.num_workers": 0}
    assert view.marks == ["input.workers"]
    top = header(fold, facts(), now)
    assert top.loss == 2.5
    assert top.step == 50
    assert top.steps_total == 200
    assert top.epoch_step == 50
    assert top.eta_s == pytest.approx(150 * 0.010)
    assert top.state == "training"


@pytest.mark.parametrize(
    ("flags", "boundary"),
    [(0, "optimizer"), (FLAG_LOADER_BOUNDARY, "loader"), (FLAG_EXPLICIT_BOUNDARY, "explicit")],
)
def test_what_bounds_a_step_is_told(flags: int, boundary: str) -> None:
    assert folded(hello(), batch(0, 1, 1, flags=flags)).ranks[0].boundary() == boundary


def test_states_of_the_run() -> None:
    assert header(RunFold(), facts(), START_UNIX + 1).state == "starting"
    assert header(RunFold(), facts(), START_UNIX + 60).state == "waiting"
    assert header(folded(hello()), facts(), START_UNIX + 60).state == "waiting"
    training = folded(hello(), batch(0, 100, 1))
    assert header(training, facts(), START_UNIX + 2).state == "training"
    assert header(training, facts(), START_UNIX + 40).state == "stalled"
    for code, stopped_by, state in [(0, None, "finished"), (7, None, "failed"), (0, "user", "stopped")]:
        ended = ExitRecord(exit_code=code, ended_unix=START_UNIX + 3, stopped_by=stopped_by)
        top = header(training, facts(ended), START_UNIX + 40)
        assert top.state == state
        assert top.elapsed_s == pytest.approx(3.0)


def test_why_it_failed_is_said_with_its_last_line() -> None:
    ended = ExitRecord(
        exit_code=1, ended_unix=1.0, outcome="died_at_start", last_lines=["Traceback", "ValueError: no", ""]
    )
    message = header(RunFold(), facts(ended), 2.0).message
    assert message == "ended before its first step (exit code 1): ValueError: no"


def test_a_rank_whose_steps_came_late_has_not_died_at_its_start() -> None:
    ended = ExitRecord(exit_code=5, ended_unix=1.0, outcome="died_at_start", last_lines=["bye"])
    message = header(folded(hello(), batch(0, 5, 1)), facts(ended), 2.0).message
    assert message == "ended (exit code 5): bye"


def test_an_ended_rank_is_ended_and_silence_is_silence() -> None:
    fold = folded(hello(), batch(0, 5, 1))
    assert rank_view(fold.ranks[0], START_UNIX + 10, [], 1).state == "silent"
    goodbye = Goodbye(run_id="r", host="h", rank=0, seq=2, reason="exit", dropped=3, errors=1)
    fold.apply(Entry(unix=START_UNIX, message=goodbye))
    view = rank_view(fold.ranks[0], START_UNIX + 10, [], 1)
    assert view.state == "ended"
    assert (view.dropped, view.probe_errors) == (3, 1)


def test_a_recording_folds_to_the_same_state(tmp_path: Path) -> None:
    event = RankEvent(run_id="r", host="h", rank=0, seq=2, at_ns=5, event="epoch", text="epoch 1", step=9)
    messages: list[FromRank] = [hello(), batch(0, 50, 1), event, batch(50, 50, 3)]
    writer = RecordingWriter(tmp_path, 1024 * 1024)
    live = RunFold()
    for number, message in enumerate(messages):
        entry = Entry(unix=START_UNIX + number, message=message)
        live.apply(entry)
        writer.append(entry)
    writer.close()
    again = RunFold()
    for entry in read_recording(tmp_path):
        again.apply(entry)
    assert list(again.ranks[0].log.raw) == list(live.ranks[0].log.raw)
    assert list(again.ranks[0].marks) == list(live.ranks[0].marks)
    assert rank_view(again.ranks[0], 0.0, [], 1) == rank_view(live.ranks[0], 0.0, [], 1)


def test_increments_carry_each_step_once() -> None:
    fold = folded(hello(), batch(0, 5, 1))
    increments = Increments()
    first = increments.advance(fold)
    assert [part.wall_ms for part in increments.history(fold, None)] == [[10.0] * 5]
    assert increments.history(fold, first) == []
    fold.apply(Entry(unix=START_UNIX, message=batch(5, 3, 2)))
    second = increments.advance(fold)
    (part,) = increments.history(fold, first)
    assert (part.first_step, len(part.wall_ms), part.stride) == (5, 3, 1)
    assert increments.history(fold, second) == []
    assert not increments.is_known(first - 1)
    assert not increments.is_known(0)


def test_a_snapshot_of_a_long_run_has_the_old_steps_thinned_and_the_new_ones_raw() -> None:
    fold = folded(hello(), batch(0, 10_000, 1))
    increments = Increments()
    increments.advance(fold)
    parts = increments.history(fold, None)
    assert [part.stride for part in parts] == [16, 1]
    assert parts[0].first_step == 0
    assert parts[1].first_step == 10_000 - 1024
    assert parts[0].stride * len(parts[0].wall_ms) <= parts[1].first_step


def test_limits_count_from_the_end_of_the_warm_up() -> None:
    by_steps = Limits(description(steps_limit=20))
    assert by_steps.reached(folded(hello(), batch(0, 29, 1)), START_UNIX) is None
    assert by_steps.reached(folded(hello(), batch(0, 30, 1)), START_UNIX) == "steps"
    by_seconds = Limits(description(seconds_limit=5.0))
    fold = folded(hello(), batch(0, 20, 1))
    warm_unix = START_UNIX + 10 * WALL_NS / 1e9
    assert by_seconds.reached(fold, warm_unix + 4.9) is None
    assert by_seconds.reached(fold, warm_unix + 5.0) == "seconds"


def test_limits_know_the_warm_up_of_a_long_run_after_a_new_start_of_the_hub() -> None:
    limits = Limits(description(seconds_limit=5.0))
    fold = folded(hello(), *(batch(at * 500, 500, 1 + at) for at in range(10)))  # 50 s, the first steps gone
    assert limits.reached(fold, START_UNIX + 5.0) is None
    assert limits.reached(fold, START_UNIX + 5.2) == "seconds"


def test_a_rank_that_was_started_again_begins_with_a_snapshot() -> None:
    class Run:
        fold = folded(hello(), batch(0, 500, 1))
        output = OutputTail(Path("/nonexistent"))
        now = staticmethod(lambda: START_UNIX)
        facts = staticmethod(facts)

        @staticmethod
        def findings() -> list[Finding]:
            return []

        @staticmethod
        def unjudged() -> list[Unjudged]:
            return []

        @staticmethod
        def profiles() -> list[ProfileView]:
            return []

        @staticmethod
        def marks(_rank: int) -> list[str]:
            return []

        @staticmethod
        def links() -> list[HostLink]:
            return []

        @staticmethod
        def relaunch() -> None:
            return None

    def pull(since: int) -> Update:
        (reply,) = server.take(b"d", encode(Pull(protocol=PROTOCOL_VERSION, since=since)))
        assert isinstance(reply.message, Update)
        return reply.message

    server = DashboardServer(cast("ServedRun", Run))
    first = pull(0)
    for message in (hello(pid=200), batch(0, 20, 1)):
        Run.fold.apply(Entry(unix=START_UNIX, message=message))
    deadline = time.monotonic() + 5
    while (update := pull(first.number)).view.ranks == []:
        assert time.monotonic() < deadline
    assert update.snapshot
    assert sum(len(part.wall_ms) for part in update.history) == 20


def test_a_warm_up_that_never_ends_counts_for_sixty_seconds() -> None:
    limits = Limits(description(seconds_limit=5.0))
    assert limits.reached(RunFold(), START_UNIX + 59) is None
    assert limits.reached(RunFold(), START_UNIX + 64) is None
    assert limits.reached(RunFold(), START_UNIX + 65) == "seconds"
