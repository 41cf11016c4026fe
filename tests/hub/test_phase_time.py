"""What ranks are at, as the hub tells it: carried on until their next word, and summing to the run's time."""

import msgspec
import pytest

from perftui.ipc.facts import PhaseFacts, RankFacts, RunPhase
from perftui.ipc.messages import Facts, Goodbye, RankEvent
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import ExitRecord
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.phase_time import phase_time
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.views import header, phases_of, rank_view
from perftui.trainer.launch.phases_text import phase_lines
from tests.hub.made_messages import START_UNIX, batch, facts, folded, hello

S = 1_000_000_000


def told(phase: RunPhase, since_s: float, at_s: float, newest_s: float, **seconds: float) -> Facts:
    """The process began half a second after the launch."""
    return Facts(
        run_id="r",
        host="h",
        rank=0,
        seq=2,
        at_ns=int(at_s * S),
        facts=RankFacts(
            phases=PhaseFacts(
                phase=phase,
                since_ns=int(since_s * S),
                at_ns=int(at_s * S),
                began_ns=S // 2,
                newest_ns=int(newest_s * S),
                seconds=seconds,
            )
        ),
    )


def validating() -> RunFold:
    seconds = {"starting": 1.5, "training": 2.0, "validation": 1.0}
    fold = folded(hello(), batch(0, 100, 1), told("validation", 4.0, 5.0, 5.0, **seconds))
    fold.apply(Entry(unix=START_UNIX + 40, message=told("validation", 4.0, 40.0, 40.0, **seconds)))
    return fold


def test_a_phase_goes_on_until_the_next_word() -> None:
    fold = folded(
        hello(),
        batch(0, 100, 1),
        told("validation", 4.0, 5.0, 5.0, starting=1.5, training=2.0, validation=1.0),
    )
    time = phase_time(fold.ranks[0], START_UNIX, START_UNIX + 16)
    assert time is not None
    assert time.phase == "validation"
    assert time.for_s == pytest.approx(12.0)
    assert time.seconds == {
        "starting": 2.0,
        "training": 2.0,
        "validation": 12.0,
        "checkpoint": 0.0,
        "compiling": 0.0,
        "between": 0.0,
        "ending": 0.0,
    }
    assert sum(time.seconds.values()) == pytest.approx(16.0)


def test_a_rank_deep_in_validation_is_neither_silent_nor_stalled() -> None:
    fold = validating()
    now = START_UNIX + 41
    phases = phases_of(facts(), fold.ranks[0], now)
    view = rank_view(fold.ranks[0], now, [], 1, None, phases)
    top = header(fold, facts(), now)
    assert (view.state, view.phase) == ("validating", "validation")
    assert view.phase_for_s == pytest.approx(37.0)
    assert (top.state, top.phase) == ("training", "validation")
    assert top.phase_for_s == pytest.approx(37.0)


def test_a_validation_that_does_not_get_on_is_stalled_and_a_checkpoint_is_not() -> None:
    fold = folded(hello(), batch(0, 100, 1), told("validation", 4.0, 5.0, 5.0, validation=1.0))
    assert header(fold, facts(), START_UNIX + 60).state == "stalled"
    fold = folded(hello(), batch(0, 100, 1), told("checkpoint", 4.0, 5.0, 5.0, checkpoint=1.0))
    assert header(fold, facts(), START_UNIX + 60).state == "training"
    assert header(folded(hello(), batch(0, 100, 1)), facts(), START_UNIX + 60).state == "stalled"


def test_the_summary_sums_to_the_time_between_launch_and_end() -> None:
    fold = folded(
        hello(), batch(0, 100, 1), told("ending", 2.0, 5.0, 2.0, starting=1.5, training=2.0, ending=1.0)
    )
    fold.apply(
        Entry(
            unix=START_UNIX + 5,
            message=Goodbye(run_id="r", host="h", rank=0, seq=3, reason="exit", dropped=0, errors=0),
        )
    )
    ended = facts(ExitRecord(exit_code=0, ended_unix=START_UNIX + 6))
    summary = summarise(fold, ended, START_UNIX + 500, [], None, 0)
    seconds = summary.ranks[0].phases_s
    assert seconds is not None
    assert summary.elapsed_s == pytest.approx(6.0)
    assert sum(seconds.values()) == pytest.approx(6.0)
    assert (seconds["starting"], seconds["ending"]) == (2.0, 2.0)
    assert header(fold, ended, START_UNIX + 500).phase is None
    line = "time      starting 2.0 s (33%) · training 2.0 s (33%) · ending 2.0 s (33%)"
    assert phase_lines(msgspec.to_builtins(summary)["ranks"]) == ["", line]


def test_a_rank_that_has_told_nothing_has_no_phase() -> None:
    fold = folded(hello(), batch(0, 100, 1))
    summary = summarise(fold, facts(), START_UNIX + 1, [], None, 0)
    assert summary.ranks[0].phases_s is None
    assert rank_view(fold.ranks[0], START_UNIX + 1, [], 1).phase is None
    assert phase_lines(msgspec.to_builtins(summary)["ranks"]) == []


@pytest.mark.parametrize("ranks", [1, 32])
def test_a_rank_that_was_started_again_counts_from_its_own_beginning(ranks: int) -> None:
    fold = folded(*(hello(rank, world_size=ranks) for rank in range(ranks)), batch(0, 5, 1))
    for rank in range(ranks):
        fold.apply(Entry(unix=START_UNIX + 100, message=hello(rank, pid=200, world_size=ranks)))
    again = told("training", 100.0, 102.0, 102.0, starting=1.0, training=0.5)
    phases = msgspec.structs.replace(again.facts.phases or pytest.fail("told none"), began_ns=int(100.5 * S))
    again = msgspec.structs.replace(again, facts=RankFacts(phases=phases))
    fold.apply(Entry(unix=START_UNIX + 102, message=again))
    time = phases_of(facts(), fold.ranks[0], START_UNIX + 102)
    assert time is not None
    assert sum(time.seconds.values()) == pytest.approx(2.0)


def test_marks_have_durations() -> None:
    event = RankEvent(
        run_id="r", host="h", rank=0, seq=1, at_ns=S, event="validation", text="3 batches", duration_ns=2 * S
    )
    fold = folded(hello(), event)
    assert [mark.duration_s for mark in fold.ranks[0].marks] == [2.0]
