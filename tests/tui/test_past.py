"""The dashboard's memory: what a moment holds, how far it reaches, and that it stays within its bound."""

from dataclasses import fields

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.facts import RankFacts
from perftui.ipc.findings import Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.view import Mark, RankHistory, RanksTogether, RunView
from perftui.tui import past as pasts
from perftui.tui.past import Past, remembered, state_at, step_back, time_of
from perftui.tui.state import POINTS_MAX, DashboardState, apply
from tests.tui import scenes

FACTS = RankFacts(environment={"OMP_NUM_THREADS": "1"})
STEPS_A_UPDATE = 10
OF_NO_TIME = {"run_id", "keys", "updates", "connected", "silent_s"}
"""What is said of the dashboard itself, not of the run at some time."""


def view_at(second: float, *, ranks: int = 1, **changes: object) -> RunView:
    """The run at a second of its life: every figure tells which."""
    header = scenes.header(elapsed_s=float(second), step=int(second) * STEPS_A_UPDATE, **changes)
    views = [
        scenes.rank(rank, now_ms=float(second), steps=int(second) * STEPS_A_UPDATE, facts=FACTS)
        for rank in range(ranks)
    ]
    return msgspec.structs.replace(
        scenes.starved(),
        header=header,
        ranks=views,
        gpus=[scenes.gpu(0, power_w=second)],
        hosts=[msgspec.structs.replace(scenes.HOST, run_busy=second)],
        findings=[msgspec.structs.replace(scenes.WORKERS, sentence=f"at {second}")],
        profiles=[msgspec.structs.replace(scenes.PROFILE, sentence=f"at {second}")],
        relaunch=msgspec.structs.replace(scenes.RELAUNCH, message=f"at {second}"),
        trials_s=(second, 2 * second),
        together=RanksTogether(states={"training": ranks}, medians={"now_ms": second}),
        links=[HostLink(host="h2", state="joined", age_s=second)],
    )


def update_at(second: int, *, ranks: int = 1, snapshot: bool = False) -> Update:
    first = (second - 1) * STEPS_A_UPDATE
    steps = [float(step) for step in range(first, first + STEPS_A_UPDATE)]
    history = [
        RankHistory(
            rank=rank, first_step=first, stride=1, wall_ms=steps, wait_ms=[0.0] * len(steps),
            flags=[0] * len(steps),
        )
        for rank in range(ranks)
    ]  # fmt: skip
    start = scenes.header().started_unix
    return Update(
        number=second,
        snapshot=snapshot,
        view=view_at(second, ranks=ranks),
        history=history,
        marks=[Mark(unix=start + second, rank=None, event="epoch", text=f"at {second}")],
        output=[f"second {second}"],
        output_number=second,
        output_partial=f"progress {second}",
        unjudged=[Unjudged(code="launch.bound", reason=f"at {second}", settled_by="a window")],
    )


def lived(seconds: int, ranks: int = 1) -> tuple[DashboardState, Past]:
    """A dashboard that has looked on for so long, one update a second."""
    state, past = DashboardState(run_id="demo-1"), Past()
    for second in range(1, seconds + 1):
        before, state = state, apply(state, update_at(second, ranks=ranks))
        past = remembered(past, before, state)
    return state, past


def test_a_moment_is_the_whole_state_of_its_time() -> None:
    then, _ = lived(40)
    live, past = lived(60)
    moment = step_back(past, time_of(live), -20)
    assert moment is not None
    assert moment.unix == time_of(then)
    found = state_at(live, past, moment)
    for name in {each.name for each in fields(DashboardState)} - OF_NO_TIME:
        assert getattr(then, name) != getattr(live, name), f"{name}: alike at both times, this tells nothing"
        assert getattr(found, name) == getattr(then, name), name
    for name in OF_NO_TIME:
        assert getattr(found, name) == getattr(live, name), name
    assert found.ranks[0].facts is FACTS


def test_one_goes_back_to_the_first_moment_and_on_to_the_present() -> None:
    live, past = lived(10)
    assert [round(each.unix - past.moments[0].unix) for each in past.moments] == list(range(10))
    first = step_back(past, time_of(live), -100)
    assert first is past.moments[0]
    assert step_back(past, past.moments[4].unix, 1) is past.moments[5]
    assert step_back(past, past.moments[4].unix + 0.5, 1) is past.moments[5]
    assert step_back(past, past.moments[4].unix + 0.5, -1) is past.moments[4]
    assert step_back(past, past.moments[-1].unix, 1) is None, "beyond it the picture is live"
    assert step_back(Past(), 0.0, -1) is None


def test_updates_within_a_second_are_one_moment() -> None:
    state, past = DashboardState(run_id="demo-1"), Past()
    for number in range(1, 9):
        before = state
        state = apply(state, msgspec.structs.replace(update_at(number), view=view_at(number / 4)))
        past = remembered(past, before, state)
    assert [moment.unix - past.moments[0].unix for moment in past.moments] == [0.0, 1.0]


def test_steps_that_the_live_state_has_let_go_of_are_still_shown() -> None:
    live, past = lived(400)
    assert live.track(0).step[0] == 400 * STEPS_A_UPDATE - POINTS_MAX
    for at in (3, 57, 123, 200, 399):
        moment = past.moments[at]
        steps = state_at(live, past, moment).track(0).step
        done = (at + 1) * STEPS_A_UPDATE
        assert steps[-1] == done - 1
        assert len(steps) >= min(done, POINTS_MAX // 2)
        assert steps == tuple(range(steps[0], done))


def test_it_reaches_back_to_the_beginning_with_moments_further_apart() -> None:
    live, past = lived(4 * pasts.MOMENTS_MAX)
    assert len(past.moments) <= pasts.MOMENTS_MAX
    assert past.moments[0].unix == scenes.header().started_unix + 1
    gaps = [b.unix - a.unix for a, b in zip(past.moments, past.moments[1:], strict=False)]
    assert gaps[-1] == 1.0
    assert gaps[0] > gaps[len(gaps) // 2] >= gaps[-1]
    assert time_of(live) - past.moments[-1].unix < 1.0


def test_it_stays_within_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasts, "BYTES_MAX", 200_000)
    live, past = lived(300, ranks=8)
    assert past.packed_bytes <= 200_000
    assert len(past.moments) > 20
    found = state_at(live, past, past.moments[0])
    assert found.track(7).step[-1] == found.ranks[7].steps - 1


def test_another_run_and_a_rank_that_was_started_again_begin_anew() -> None:
    live, past = lived(20)
    other = apply(DashboardState(run_id="demo-2"), update_at(1, snapshot=True))
    assert len(remembered(past, DashboardState(run_id="demo-2"), other).moments) == 1
    again = msgspec.structs.replace(update_at(21, snapshot=True), view=view_at(21))
    born = msgspec.structs.replace(again.view, ranks=[scenes.rank(0, pid=9999)])
    state = apply(live, msgspec.structs.replace(again, view=born))
    assert len(remembered(past, live, state).moments) == 1
    same = apply(live, again)
    assert len(remembered(past, live, same).moments) == 21, (
        "a hub that was started again tells of the same ranks"
    )


def test_a_replay_is_not_remembered() -> None:
    live, past = lived(5)
    replayed = msgspec.structs.replace(update_at(6), view=view_at(6, replay=True))
    assert remembered(past, live, apply(live, replayed)) == Past()
