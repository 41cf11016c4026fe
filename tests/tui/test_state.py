"""Folding updates into the state."""

import msgspec

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.facts import RankFacts
from perftui.ipc.view import Mark, RankHistory, RunView
from perftui.tui import state as states
from perftui.tui.state import DashboardState, apply, followed, silent
from tests.tui import scenes

EMPTY = DashboardState(run_id="demo-1")


def update(number: int, view: RunView | None = None, **changes: object) -> Update:
    base = Update(number=number, snapshot=False, view=view or scenes.starved())
    return msgspec.structs.replace(base, **changes)


def column(first: int, count: int, stride: int = 1) -> RankHistory:
    steps = [float(first + index * stride) for index in range(count)]
    return RankHistory(
        rank=0, first_step=first, stride=stride, wall_ms=steps, wait_ms=[0.0] * count, flags=[0] * count
    )


def test_changed_ranks_are_merged_into_those_known() -> None:
    state = apply(EMPTY, update(1, scenes.two_ranks(), snapshot=True))
    partial = msgspec.structs.replace(scenes.two_ranks(), ranks=[scenes.rank(1, now_ms=7.0)])
    state = apply(state, update(2, partial))
    assert [(view.rank, view.now_ms) for view in state.ranks] == [(0, 142.3), (1, 7.0)]


def test_facts_that_are_not_told_again_stay() -> None:
    facts = RankFacts(environment={"OMP_NUM_THREADS": "1"})
    first = msgspec.structs.replace(scenes.two_ranks(), ranks=[scenes.rank(0, facts=facts), scenes.rank(1)])
    state = apply(EMPTY, update(1, first, snapshot=True))
    partial = msgspec.structs.replace(first, ranks=[scenes.rank(0, now_ms=7.0), scenes.rank(1, now_ms=8.0)])
    state = apply(state, update(2, partial))
    assert [(view.now_ms, view.facts) for view in state.ranks] == [(7.0, facts), (8.0, None)]
    other = RankFacts(environment={"OMP_NUM_THREADS": "2"})
    state = apply(state, update(3, msgspec.structs.replace(first, ranks=[scenes.rank(0, facts=other)])))
    assert [view.facts for view in state.ranks] == [other, None]


def test_profiles_are_merged_by_window() -> None:
    armed = msgspec.structs.replace(scenes.PROFILE, state="armed", ranks=[])
    view = msgspec.structs.replace(scenes.starved(), profiles=[armed])
    state = apply(EMPTY, update(1, view))
    state = apply(state, update(2, msgspec.structs.replace(view, profiles=[scenes.PROFILE])))
    state = apply(state, update(3, msgspec.structs.replace(view, profiles=[])))
    assert [profile.state for profile in state.profiles] == ["done"]


def test_history_grows_and_a_repeated_answer_adds_nothing() -> None:
    state = apply(EMPTY, update(1, history=[column(0, 3)]))
    state = apply(state, update(2, history=[column(2, 3)]))
    assert state.track(0).step == (0, 1, 2, 3, 4)
    assert state.track(0).wall_ms == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_thinned_history_keeps_its_step_numbers() -> None:
    state = apply(EMPTY, update(1, snapshot=True, history=[column(0, 3, stride=10), column(30, 2)]))
    assert state.track(0).step == (0, 10, 20, 30, 31)


def test_history_marks_and_output_are_bounded() -> None:
    marks = [Mark(unix=float(index), rank=None, event="epoch", text="") for index in range(500)]
    lines = [f"line {index}" for index in range(3000)]
    state = apply(EMPTY, update(1, history=[column(0, 5000)], marks=marks, output=lines, output_number=3000))
    assert len(state.track(0).step) == states.POINTS_MAX
    assert state.track(0).step[-1] == 4999
    assert len(state.marks) == states.MARKS_MAX
    assert state.output[-1] == "line 2999"
    assert len(state.output) == states.OUTPUT_MAX


def test_output_is_told_by_its_number() -> None:
    state = apply(EMPTY, update(1, output=["a", "b"], output_number=2))
    state = apply(state, update(2, output=["b", "c"], output_number=3))
    assert state.output == ("a", "b", "c")


def test_output_is_text_without_controls() -> None:
    raw = ["\x1b[31mred\x1b[0m [bold]x[/bold]", "10%\r20%", "a\tb\x07\x1b]0;title\x07"]
    state = apply(EMPTY, update(1, output=raw, output_number=3))
    assert state.output == ("red [bold]x[/bold]", "20%", "a   b")


def test_an_older_update_changes_nothing_and_a_snapshot_forgets() -> None:
    state = apply(EMPTY, update(5, history=[column(0, 3)], output=["a"], output_number=1))
    assert apply(state, update(4, scenes.ended())) is state
    fresh = apply(state, update(1, snapshot=True, history=[column(7, 1)]))
    assert fresh.track(0).step == (7,)
    assert fresh.output == ()


def test_the_same_number_again_brings_news_of_the_header_and_no_mark_twice() -> None:
    mark = Mark(unix=1.0, rank=None, event="epoch", text="")
    state = apply(EMPTY, update(2, marks=[mark]))
    later = msgspec.structs.replace(scenes.starved(), header=scenes.header(elapsed_s=300.0))
    state = apply(state, update(2, later, marks=[mark]))
    assert len(state.marks) == 1
    assert state.header is not None
    assert state.header.elapsed_s == 300.0


def test_silence_keeps_the_picture_and_a_word_ends_it() -> None:
    state = silent(apply(EMPTY, update(1)), 4.0)
    assert (state.connected, state.silent_s, len(state.ranks)) == (False, 4.0, 1)
    assert apply(state, update(2)).connected


def test_following_carries_the_verdict_over() -> None:
    state = followed(apply(EMPTY, update(1, scenes.decided())), "demo-2")
    assert (state.run_id, state.ranks) == ("demo-2", ())
    state = apply(state, update(1, scenes.fine(), snapshot=True))
    assert state.relaunch is not None
    assert state.relaunch.verdict == scenes.VERDICT


def test_a_rank_that_is_looked_at_anew_begins_its_history_and_marks_anew_in_the_same_picture() -> None:
    old, new = Mark(unix=1.0, rank=3, event="epoch", text="x"), Mark(unix=2.0, rank=0, event="gc", text="y")
    state = apply(EMPTY, update(5, snapshot=True, history=[column(90, 10)], marks=[old]))
    state = apply(state, update(5, history=[column(0, 100)], marks=[new], closer=[0], anew=True))
    assert state.track(0).step == tuple(range(100))
    assert state.marks == (new,)
    state = apply(state, update(6, history=[column(100, 2)], closer=[0]))
    assert state.track(0).step == tuple(range(102))
    assert state.marks == (new,)
